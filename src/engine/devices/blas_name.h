/* blas_name.h: the BLAS library that the device cpu multiplies matrices with. */
#ifndef TINCA_ENGINE_DEVICES_BLAS_NAME_H
#define TINCA_ENGINE_DEVICES_BLAS_NAME_H

#include <stddef.h>

/* Writes the library, its version and the processor that its kernels were chosen for, as in
 * "OpenBLAS 0.3.21 Haswell", into `text`. Results can differ in the last bits with another library,
 * version or processor. Returns `text`. */
char *blas_name(char *text, size_t size);

#endif
