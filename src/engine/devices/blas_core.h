/* blas_core.h: the processor that OpenBLAS chooses its kernels for. */
#ifndef TINCA_ENGINE_DEVICES_BLAS_CORE_H
#define TINCA_ENGINE_DEVICES_BLAS_CORE_H

/* Starts the program again, with the environment variable OPENBLAS_CORETYPE, if this OpenBLAS is
 * older than the processor and therefore uses kernels for SSE3, a fifth as fast as those for
 * AVX-512. OpenBLAS reads the variable when it is loaded, before main. Returns if there is nothing
 * to do: the processor is known, the user has set the variable, or TINCA_CPU asks for no more than
 * SSE3. Also returns if the program's file cannot be executed again; it then computes with the slow
 * kernels. main calls it first. */
void blas_core_choose(char **argv);

#endif
