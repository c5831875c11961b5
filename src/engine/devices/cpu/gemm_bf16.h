/* gemm_bf16.h: matrix products of bf16 with sums in float32, for linear layers. Only the kernels of
 * this folder use it.
 *
 *   c [rows, columns] = a [rows, k] b [k, columns]
 *
 * Both operands are copied from matrices of float32, rounded, and brought into the order in which
 * the processor multiplies: as pairs of neighbours along k. The copies have zeros behind k, up to a
 * multiple of GEMM_STEP, the depth.
 *
 *   a   [row][depth], in memory for a multiple of LANES rows, of which those behind the last one
 *       may have any values
 *   b   [group of GEMM_COLUMNS columns][pair][column][2], with zeros for missing columns; a float
 *       stands for a pair
 *
 * The results do not depend on how rows and columns are divided into calls.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_GEMM_BF16_H
#define TINCA_ENGINE_DEVICES_CPU_GEMM_BF16_H

#include "engine/devices/cpu/elements.h"

enum { GEMM_STEP = 2 * LANES, GEMM_COLUMNS = 2 * LANES };

/* Returns `k` with the zeros behind it. */
static inline size_t gemm_depth(size_t k)
{
    return round_up(k, GEMM_STEP);
}

/* Returns the elements of the copy `a`. */
static inline size_t gemm_a_elements(size_t rows, size_t k)
{
    return round_up(rows, LANES) * gemm_depth(k);
}

/* Returns the floats of the copy `b`. */
static inline size_t gemm_b_floats(size_t columns, size_t k)
{
    return round_up(columns, GEMM_COLUMNS) * gemm_depth(k) / 2;
}

/* Copies from[rows][k], whose rows are `stride` floats apart, to `a`. */
void KERNEL(gemm_copy_a)(const float *from, size_t stride, size_t rows, size_t k, element *to);

/* Copies from[k][rows] to `a`. */
void KERNEL(gemm_copy_a_transposed)(const float *from, size_t stride, size_t rows, size_t k,
                                    element *to);

/* Copy from[k][columns], or from[columns][k], to `b`. */
typedef void gemm_copy_function(const float *from, size_t stride, size_t columns, size_t k,
                                float *to);
gemm_copy_function KERNEL(gemm_copy_b), KERNEL(gemm_copy_b_transposed);

struct gemm_bf16_call {
    size_t rows, columns;
    size_t depth;      /* to sum over: a multiple of GEMM_STEP */
    const element *a;  /* of the first row */
    size_t a_stride;   /* elements from row to row */
    const float *b;    /* its groups have the same depth */
    const float *bias; /* of the columns; NULL: none */
    bool accumulate;   /* adds to c; without a bias */
    float *c;
    size_t c_stride; /* floats from row to row */
};

/* Computes c, and nothing beside it. */
void KERNEL(gemm_bf16)(const struct gemm_bf16_call *g);

/* --- at the edges of a matrix --- */

/* Returns the mask of the first `count` lanes. */
static inline __mmask16 gemm_mask(size_t count)
{
    return (__mmask16)(count < LANES ? (1u << count) - 1 : 0xFFFF);
}

/* Returns `count` floats, at most LANES, with zeros behind them. */
static inline __m512 gemm_load(const float *from, size_t count)
{
    return _mm512_maskz_loadu_ps(gemm_mask(count), from);
}

/* Returns how many of the values from `begin` on are before `end`. */
static inline size_t gemm_left(size_t begin, size_t end)
{
    return begin < end ? end - begin : 0;
}

/* Stores the sums of the columns of a row from `column` on, at most LANES. */
static inline void gemm_store(const struct gemm_bf16_call *g, size_t row, size_t column,
                              vector sums)
{
    float *to = g->c + row * g->c_stride + column;
    const size_t count = gemm_left(column, g->columns);
    if (g->accumulate)
        sums += (vector)gemm_load(to, count);
    if (g->bias)
        sums += (vector)gemm_load(g->bias + column, count);
    _mm512_mask_storeu_ps(to, gemm_mask(count), (__m512)sums);
}

#endif
