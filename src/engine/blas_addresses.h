/* blas_addresses.h: what OpenBLAS maps to multiply matrices, which counts where addresses are
 * limited (ulimit -v, -d): a part for each thread that is in a product. */
#ifndef TINCA_ENGINE_BLAS_ADDRESSES_H
#define TINCA_ENGINE_BLAS_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#define BLAS_PART ((uint64_t)128 << 20) /* bytes */

/* Notes which parts OpenBLAS mapped when it was loaded, as newer versions do (0.3.29). To be called
 * once, before anything large is allocated. */
void blas_addresses_note(void);

/* Returns how many bytes OpenBLAS will still map for `threads` threads. */
uint64_t blas_addresses_to_come(size_t threads);

#endif
