/* The method tucker. With the kernel of a group as W[o][i][k], k counting its elements:
 *
 *   W[o][i][k] ~ sum over a, b of A[o][a] * core[a][b][k] * B[i][b]
 *
 * A [outputs][R_out] and B [inputs][R_in] have orthonormal columns. They begin as the first left
 * singular vectors of W unfolded by outputs and by inputs (HOSVD, De Lathauwer et al. 2000). Then
 * each is computed anew from W projected onto the other, in turn (HOOI): no step makes the error
 * larger. The core is W projected onto both, so the sum of the squared differences is that of W
 * less that of the core. It is also the part of W that the projection onto A leaves out, plus the
 * squared singular values that the last step cut off.
 *
 * A rank that is full needs no projection: that matrix is the identity, and its 1 x 1 convolution
 * is left out. Then there is nothing to iterate, and the other matrix is the best one at once. */
#include "engine/compress/factor.h"

#include "base/memory.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

/* HOOI ends after so many rounds, or when a round keeps less than this share of the squares more.
 */
enum { ROUNDS = 10 };
static const double gain_to_continue = 1e-7;

struct tucker {
    const struct factor *factor;
    size_t o, i, k;             /* outputs and inputs of the group, elements of the kernel */
    size_t out, in;             /* the ranks */
    double *w;                  /* [o][i][k] */
    double *a;                  /* [o][out]; NULL: the identity */
    double *b;                  /* [i][in]; NULL: the identity */
    double *projected, *matrix; /* scratch of as many values as w */
    double tail;                /* sum of the squared differences that A and B make */
};

/* --- arrays --- */

/* Copies from [planes][rows][k] to [rows][planes][k]. */
static void swap_axes(const double *from, double *to, size_t planes, size_t rows, size_t k)
{
    for (size_t p = 0; p < planes; p++)
        for (size_t r = 0; r < rows; r++)
            memcpy(to + (r * planes + p) * k, from + (p * rows + r) * k, k * sizeof *to);
}

/* to[columns of m][n] = m^T [rows][columns] * from[rows][n] */
static void project(const double *m, size_t rows, size_t columns, const double *from, size_t n,
                    double *to)
{
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)columns, (int)n, (int)rows, 1, m,
                (int)columns, from, (int)n, 0, to, (int)n);
}

/* Writes W projected onto A, [out][i][k]. */
static void project_outputs(const struct tucker *t, const double *from, double *to)
{
    if (t->a)
        project(t->a, t->o, t->out, from, t->i * t->k, to);
    else
        memcpy(to, from, t->o * t->i * t->k * sizeof *to);
}

/* Writes an array [planes][i][k] projected onto B, [planes][in][k]. */
static void project_inputs(const struct tucker *t, const double *from, size_t planes, double *to)
{
    if (!t->b)
        memcpy(to, from, planes * t->i * t->k * sizeof *to);
    for (size_t p = 0; t->b && p < planes; p++)
        project(t->b, t->i, t->in, from + p * t->i * t->k, t->k, to + p * t->in * t->k);
}

static double squares(const double *values, size_t count)
{
    double sum = 0;
    for (size_t n = 0; n < count; n++)
        sum += values[n] * values[n];
    return sum;
}

/* --- decomposition --- */

static void read_kernel(const struct factor *factor, size_t g, double *w)
{
    const struct factor_kernel *k = &factor->kernel;
    const float *weights = factor_group_weights(factor, g);
    for (size_t n = 0; n < k->outputs * k->inputs * k->height * k->width; n++)
        w[n] = (double)weights[n];
}

bool factor_tucker_decompose(struct factor *factor, size_t g, struct error *error)
{
    const struct factor_kernel *kernel = &factor->kernel;
    const size_t o = kernel->outputs, i = kernel->inputs, k = kernel->height * kernel->width;
    double *w = memory_new_aligned(2 * o * i * k, sizeof *w, factor->what, error);
    if (!w)
        return false;
    double *unfolded = w + o * i * k;
    read_kernel(factor, g, w);
    swap_axes(w, unfolded, o, i, k);
    const bool done =
        svd_compute(&factor->svds[g * 2], w, o, i * k, factor->what, error) &&
        svd_compute(&factor->svds[g * 2 + 1], unfolded, i, o * k, factor->what, error);
    free(w);
    return done;
}

/* --- HOOI --- */

/* Copies the first `columns` columns of U. */
static void take_columns(const struct svd *svd, size_t columns, double *to)
{
    for (size_t row = 0; row < svd->rows; row++)
        memcpy(to + row * columns, svd->u + row * svd->rank, columns * sizeof *to);
}

/* Replaces `vectors` [rows][columns] by the first left singular vectors of t->matrix [rows][n], and
 * sets t->tail from the squares that the matrix has and W lacks. */
static bool renew(struct tucker *t, double *vectors, size_t rows, size_t columns, size_t n,
                  struct error *error)
{
    struct svd svd;
    const double outside = squares(t->w, t->o * t->i * t->k) - squares(t->matrix, rows * n);
    if (!svd_compute(&svd, t->matrix, rows, n, t->factor->what, error))
        return false;
    take_columns(&svd, columns, vectors);
    t->tail = (outside > 0 ? outside : 0) + factor_tail(&svd, columns);
    svd_free(&svd);
    return true;
}

/* Computes A from W projected onto B, then B from W projected onto A. */
static bool improve(struct tucker *t, struct error *error)
{
    project_inputs(t, t->w, t->o, t->matrix); /* [o][in][k] */
    if (!renew(t, t->a, t->o, t->out, t->in * t->k, error))
        return false;
    project_outputs(t, t->w, t->projected); /* [out][i][k] */
    swap_axes(t->projected, t->matrix, t->out, t->i, t->k);
    return renew(t, t->b, t->i, t->in, t->out * t->k, error);
}

static bool iterate(struct tucker *t, struct error *error)
{
    const double enough = gain_to_continue * squares(t->w, t->o * t->i * t->k);
    double before = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        if (!improve(t, error))
            return false;
        if (round > 0 && before - t->tail < enough)
            break;
        before = t->tail;
    }
    return true;
}

/* Begins with the singular vectors of the unfolded kernel. */
static bool begin(struct tucker *t, size_t g, struct error *error)
{
    const struct svd *svds = &t->factor->svds[g * 2];
    const size_t count = t->o * t->i * t->k;
    const char *what = t->factor->what;
    t->w = memory_new_aligned(count, sizeof *t->w, what, error);
    t->projected = memory_new_aligned(count, sizeof *t->projected, what, error);
    t->matrix = memory_new_aligned(count, sizeof *t->matrix, what, error);
    bool good = t->w && t->projected && t->matrix;
    if (good && t->out < t->o)
        good = (t->a = memory_new_aligned(t->o * t->out, sizeof *t->a, what, error));
    if (good && t->in < t->i)
        good = (t->b = memory_new_aligned(t->i * t->in, sizeof *t->b, what, error));
    if (!good)
        return false;
    read_kernel(t->factor, g, t->w);
    if (t->a)
        take_columns(&svds[0], t->out, t->a);
    if (t->b)
        take_columns(&svds[1], t->in, t->b);
    t->tail = t->a ? factor_tail(&svds[0], t->out) : factor_tail(&svds[1], t->in);
    return true;
}

static void end(struct tucker *t)
{
    free(t->w);
    free(t->a);
    free(t->b);
    free(t->projected);
    free(t->matrix);
}

/* --- parts --- */

/* Writes B^T [in][i], the core [out][in][k] and A [o][out], rounded to float32, and reads them back
 * as float32 holds them. Leaves the core in t->matrix. */
static void write_parts(struct tucker *t, size_t g, float *const parts[FACTOR_PARTS])
{
    project_outputs(t, t->w, t->projected);
    project_inputs(t, t->projected, t->out, t->matrix);
    float *first = t->b ? parts[0] + g * t->in * t->i : NULL;
    float *core = parts[1] + g * t->out * t->in * t->k;
    float *last = t->a ? parts[2] + g * t->o * t->out : NULL;
    for (size_t i = 0; first && i < t->i; i++)
        for (size_t b = 0; b < t->in; b++) {
            first[b * t->i + i] = (float)t->b[i * t->in + b];
            t->b[i * t->in + b] = (double)first[b * t->i + i];
        }
    for (size_t n = 0; n < t->out * t->in * t->k; n++) {
        core[n] = (float)t->matrix[n];
        t->matrix[n] = (double)core[n];
    }
    for (size_t n = 0; last && n < t->o * t->out; n++) {
        last[n] = (float)t->a[n];
        t->a[n] = (double)last[n];
    }
}

/* to[rows][n] = m[rows][columns] * from[columns][n] */
static void expand(const double *m, size_t rows, size_t columns, const double *from, size_t n,
                   double *to)
{
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)n, (int)columns, 1, m,
                (int)columns, from, (int)n, 0, to, (int)n);
}

/* Returns the sum of the squared differences between W and the product of the parts, whose core is
 * in t->matrix. */
static double compare(struct tucker *t)
{
    const size_t count = t->o * t->i * t->k;
    double *spread = t->projected; /* [out][i][k] */
    if (t->b)
        for (size_t a = 0; a < t->out; a++)
            expand(t->b, t->i, t->in, t->matrix + a * t->in * t->k, t->k, spread + a * t->i * t->k);
    else
        memcpy(spread, t->matrix, t->out * t->i * t->k * sizeof *spread);
    if (t->a)
        expand(t->a, t->o, t->out, spread, t->i * t->k, t->matrix);
    else
        memcpy(t->matrix, spread, count * sizeof *spread);
    for (size_t n = 0; n < count; n++)
        t->matrix[n] -= t->w[n];
    return squares(t->matrix, count);
}

bool factor_tucker_make(const struct factor *factor, const size_t *ranks, size_t g,
                        float *const parts[FACTOR_PARTS], double *tail, double *difference,
                        struct error *error)
{
    const struct factor_kernel *kernel = &factor->kernel;
    struct tucker t = {.factor = factor,
                       .o = kernel->outputs,
                       .i = kernel->inputs,
                       .k = kernel->height * kernel->width,
                       .out = ranks[0],
                       .in = ranks[1]};
    bool good = begin(&t, g, error) && (!t.a || !t.b || iterate(&t, error));
    if (good) {
        write_parts(&t, g, parts);
        *tail += t.a || t.b ? t.tail : 0;
        *difference += compare(&t);
    }
    end(&t);
    return good;
}
