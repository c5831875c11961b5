/* blas.h: the BLAS library that the device cpu multiplies matrices with. */
#ifndef TINCA_ENGINE_DEVICES_BLAS_H
#define TINCA_ENGINE_DEVICES_BLAS_H

#include <stddef.h>

/* Writes the library, its version and the processor that its kernels were chosen for, as in
 * "OpenBLAS 0.3.21 Haswell", into `text`. Results can differ in the last bits with another library,
 * version or processor. Returns `text`. */
char *blas_name(char *text, size_t size);

/* Starts the program again, with the environment variable OPENBLAS_CORETYPE, if this OpenBLAS is
 * older than the processor and therefore uses kernels for SSE3, a fifth as fast as those for
 * AVX-512. OpenBLAS reads the variable when it is loaded, before main. Returns if there is nothing
 * to do: the processor is known, the user has set the variable, or TINCA_CPU asks for no more than
 * SSE3. Also returns if the program's file cannot be executed again; it then computes with the slow
 * kernels. main calls it first. */
void blas_core_choose(char **argv);

#endif
