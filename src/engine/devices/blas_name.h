/* blas_name.h: the BLAS library that the device cpu multiplies matrices with. */
#ifndef TINCA_ENGINE_DEVICES_BLAS_NAME_H
#define TINCA_ENGINE_DEVICES_BLAS_NAME_H

#include <stddef.h>

/* Writes the library, its version and the processor that its kernels were chosen for, as in
 * "OpenBLAS 0.3.21 Haswell", into `text`. Another one rounds in other places. Returns `text`. */
char *blas_name(char *text, size_t size);

#endif
