/* factor.h: the weights of one layer as a product of smaller ones.
 *
 * Three methods, each the best approximation of its form for the sum of squared differences, or
 * close to it:
 *   svd      a linear layer or a 1 x 1 convolution, W = U S V^T: first R values by S V^T, then the
 *            outputs by U.
 *   spatial  a convolution (Jaderberg et al. 2014, in the closed form of Tai et al. 2016): first a
 *            kh x 1 convolution to R channels, then a 1 x kw one. They are the two factors of the
 *            matrix [(output, x)][(input, y)] that the kernel becomes.
 *   tucker   a convolution (Tucker-2, Kim et al. 2016): a 1 x 1 convolution to R_in channels, one
 *            of the old size to R_out, and a 1 x 1 one to the outputs.
 * Each group of a convolution is factorized by itself, all with the same rank. No part but the last
 * has a bias. Functions that compute need no device; the bits depend on nothing but the weights.
 */
#ifndef TINCA_ENGINE_COMPRESS_FACTOR_H
#define TINCA_ENGINE_COMPRESS_FACTOR_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- the singular value decomposition of a matrix, by LAPACK (svd.c) ---
 *
 * LAPACK computes with one thread here, so that the bits do not depend on the number of cores. */

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

/* Returns the bytes of a decomposition, and sets *working to the bytes that svd_compute needs in
 * addition, its matrix included. */
uint64_t svd_bytes(size_t rows, size_t columns, uint64_t *working);

/* Frees the arrays and leaves the decomposition zeroed. */
void svd_free(struct svd *svd);

/* --- factors --- */

enum factor_method { FACTOR_SVD, FACTOR_SPATIAL, FACTOR_TUCKER };

/* FACTOR_MODES: the most ranks of a layer. Tucker has R_out and R_in, in this order. */
enum { FACTOR_MODES = 2, FACTOR_PARTS = 3 };

/* The weights of a layer, float32 [groups][outputs][inputs][height][width] as PyTorch has them;
 * `outputs` and `inputs` are those of one group. A linear layer is a 1 x 1 kernel. */
struct factor_kernel {
    const float *weight; /* borrowed */
    size_t groups, outputs, inputs, height, width;
};

/* The squared error of each rank: tails[r] is the sum of the squared singular values after the
 * first r, of all groups, for r = 0..full. */
struct factor_spectrum {
    size_t full;
    double *tails;
};

/* A decomposed kernel, from which parts of any rank can be made. */
struct factor {
    enum factor_method method;
    struct factor_kernel kernel;
    const char *what; /* the layer's name, borrowed */
    size_t modes;     /* 1; 2 with tucker */
    struct factor_spectrum spectra[FACTOR_MODES];
    struct svd *svds; /* [groups][modes] */
    double squares;   /* the sum of all squared weights */
};

/* The errors of the parts of a layer. All three are relative to the weights' Frobenius norm, 0 for
 * a layer of zeros. */
struct factor_fit {
    double energy; /* 1 - tail^2: the share of the squared singular values that is kept */
    double tail;   /* the root of the sum of the squared singular values that are dropped */
    double error;  /* the norm of the difference between the weights and the float32 parts' product:
                      equal to `tail` but for rounding */
};

/* Decomposes a kernel; factor_free releases the result. `what`, the layer's name, and the weights
 * must live as long. Returns false with an error, as svd_compute does. */
bool factor_decompose(struct factor *factor, enum factor_method method,
                      const struct factor_kernel *kernel, const char *what, struct error *error);

/* Returns the bytes that factor_decompose will allocate for a kernel, whose weights it does not
 * read, and sets *working to the part that it frees again. */
uint64_t factor_bytes(enum factor_method method, const struct factor_kernel *kernel,
                      uint64_t *working);

/* Frees what factor_decompose allocated and leaves `factor` zeroed. */
void factor_free(struct factor *factor);

/* Sets ranks[0..modes) to the smallest, from 1, that together lose at most this share of the
 * squared singular values. With two modes each may lose half of it: the loss of both is at most
 * the sum (De Lathauwer et al. 2000). */
void factor_choose_ranks(const struct factor *factor, double loss, size_t *ranks);

/* Sets ranks[0..modes) to the ranks with the least sum of loss, as a share of the squared singular
 * values, and `price` for each value of the parts. Returns that sum. With two modes the loss is the
 * bound that factor_choose_ranks keeps to. */
double factor_choose_ranks_at(const struct factor *factor, double price, size_t *ranks);

/* Returns the number of values of part `i`, 0 for a part that these ranks do not need: a 1 x 1
 * convolution of tucker whose rank is full. */
size_t factor_part_values(const struct factor *factor, const size_t *ranks, size_t i);

/* Writes the parts of these ranks into parts[i][0..factor_part_values), in PyTorch's layout; NULL
 * for a part that is not needed. Returns false with an error. */
bool factor_make(const struct factor *factor, const size_t *ranks, float *const parts[FACTOR_PARTS],
                 struct factor_fit *fit, struct error *error);

#endif
