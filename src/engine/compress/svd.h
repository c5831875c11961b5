/* svd.h: the singular value decomposition of a matrix, by LAPACK.
 *
 * LAPACK computes with one thread here, so that the bits do not depend on the number of cores.
 */
#ifndef TINCA_ENGINE_COMPRESS_SVD_H
#define TINCA_ENGINE_COMPRESS_SVD_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* matrix[i][j] = sum over r of u[i][r] * s[r] * vt[r][j], with rank = min(rows, columns). All
 * arrays are row-major. */
struct svd {
    size_t rows, columns, rank;
    double *u;  /* [rows][rank]; its columns are orthonormal */
    double *s;  /* [rank]; not negative, the largest first */
    double *vt; /* [rank][columns]; its rows are orthonormal */
};

/* Decomposes matrix[rows][columns] and overwrites it; svd_free releases the result. `what` names
 * the layer in errors. Returns false with an error if a value is NaN or infinite, if the matrix is
 * too large for LAPACK's integers, or if out of memory. */
bool svd_compute(struct svd *svd, double *matrix, size_t rows, size_t columns, const char *what,
                 struct error *error);

/* Returns the bytes of a decomposition, and sets *working to those that svd_compute needs besides,
 * its matrix included. */
uint64_t svd_bytes(size_t rows, size_t columns, uint64_t *working);

/* Frees the arrays and leaves the decomposition zeroed. */
void svd_free(struct svd *svd);

#endif
