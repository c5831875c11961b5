/* tiles.h: the inner loops of convolution. Only the kernels of this folder use it.
 *
 * A tile has rows x vectors accumulators in registers. The compiler must know its size, so there is
 * one function for each size; the tables at the end list them.
 *
 *   tile_correlate   out[r][p] = sum over k of weights[k][r] * source[offsets[k] + p]
 *   tile_gradient    out[r][o] += sum over positions p of source[offsets[r] + p] * gradient[p][o]
 *   tile_dot         sums[r] = sum over p of source[offsets[r] + p] * gradient[p]
 *
 * Sums are taken in blocks of terms, which are then added. The rounding error of one float32 sum of
 * K terms grows with K, that of a sum of blocks with the root of K times the block size; batch
 * norms multiply these errors from layer to layer.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_TILES_H
#define TINCA_ENGINE_DEVICES_CPU_TILES_H

#include "engine/devices/cpu/simd.h"

#define TILE_INLINE static inline __attribute__((always_inline))

enum { TERM_BLOCK = 64 }; /* terms of a block; adding the block costs one step more */

/* Adds the sums to `out` if `add` is set. Otherwise the sums begin with bias[r], or with 0 if
 * `bias` is NULL. */
typedef void tile_correlate(const float *source, const size_t *offsets, const float *weights,
                            size_t terms, const float *bias, bool add, float *out,
                            size_t out_stride);

/* Sums one block of terms, which begins the results or is added to them. */
TILE_INLINE void correlate_block(const float *source, const size_t *offsets, const float *weights,
                                 size_t terms, const float *bias, bool add, float *out,
                                 size_t out_stride, const int rows, const int vectors)
{
    vector sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            sum[r][v] = (vector){0} + (bias ? bias[r] : 0);
    for (size_t k = 0; k < terms; k++, weights += rows) {
        const float *from = source + offsets[k];
        vector value[TILE_VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            value[v] = vector_load(from + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++)
                sum[r][v] += weights[r] * value[v];
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            float *to = out + (size_t)r * out_stride + v * LANES;
            vector_store(to, add ? vector_load(to) + sum[r][v] : sum[r][v]);
        }
}

TILE_INLINE void correlate_body(const float *source, const size_t *offsets, const float *weights,
                                size_t terms, const float *bias, bool add, float *out,
                                size_t out_stride, const int rows, const int vectors)
{
    size_t k = 0;
    do {
        const size_t block = min_size(terms - k, TERM_BLOCK);
        const bool more = add || k > 0;
        correlate_block(source, offsets + k, weights + k * (size_t)rows, block, more ? NULL : bias,
                        more, out, out_stride, rows, vectors);
        k += block;
    } while (k < terms);
}

/* The positions of one image: `height` rows of `width`, `pitch` apart in the source. */
struct tile_positions {
    size_t images, height, width, pitch;
    size_t source_step, gradient_step; /* floats from image to image */
};

/* Reads gradient[p][stride], where p counts the images' positions without gaps. */
typedef void tile_gradient(const struct tile_positions *positions, const float *source,
                           const size_t *offsets, const float *gradient, size_t stride, float *out);

TILE_INLINE void gradient_body(const struct tile_positions *positions, const float *source,
                               const size_t *offsets, const float *gradient, size_t stride,
                               float *out, const int rows, const int vectors)
{
    vector sum[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++)
            sum[r][v] = (vector){0};
    for (size_t n = 0; n < positions->images; n++) {
        const float *from[TILE_ROWS];
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            from[r] = source + n * positions->source_step + offsets[r];
        const float *g = gradient + n * positions->gradient_step;
        for (size_t y = 0; y < positions->height; y++) {
            const size_t begin = y * positions->pitch, end = begin + positions->width;
            for (size_t p = begin; p < end; p++, g += stride) {
                vector value[TILE_VECTORS];
#pragma GCC unroll 3
                for (int v = 0; v < vectors; v++)
                    value[v] = vector_load(g + v * LANES);
#pragma GCC unroll 8
                for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
                    for (int v = 0; v < vectors; v++)
                        sum[r][v] += from[r][p] * value[v];
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            float *to = out + (size_t)r * stride + v * LANES;
            vector_store(to, vector_load(to) + sum[r][v]);
        }
}

/* Reads `count` values, a multiple of LANES; the gradient is 0 at positions that do not count. */
typedef void tile_dot(const float *source, const size_t *offsets, const float *gradient,
                      size_t count, float *sums);

TILE_INLINE void dot_body(const float *source, const size_t *offsets, const float *gradient,
                          size_t count, float *sums, const int rows)
{
    vector sum[TILE_ROWS];
    const float *from[TILE_ROWS];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        sum[r] = (vector){0};
        from[r] = source + offsets[r];
    }
    for (size_t p = 0; p < count; p += LANES) {
        vector g = vector_load(gradient + p);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++)
            sum[r] += vector_load(from[r] + p) * g;
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        sums[r] = vector_sum(sum[r]);
}

#define TILE_FUNCTIONS(rows, vectors)                                                              \
    static void correlate_##rows##x##vectors(                                                      \
        const float *source, const size_t *offsets, const float *weights, size_t terms,            \
        const float *bias, bool add, float *out, size_t out_stride)                                \
    {                                                                                              \
        correlate_body(source, offsets, weights, terms, bias, add, out, out_stride, rows,          \
                       vectors);                                                                   \
    }                                                                                              \
    static void gradient_##rows##x##vectors(const struct tile_positions *positions,                \
                                            const float *source, const size_t *offsets,            \
                                            const float *gradient, size_t stride, float *out)      \
    {                                                                                              \
        gradient_body(positions, source, offsets, gradient, stride, out, rows, vectors);           \
    }
#define TILE_ROW_FUNCTIONS(rows)                                                                   \
    TILE_FUNCTIONS(rows, 1)                                                                        \
    TILE_FUNCTIONS(rows, 2)                                                                        \
    TILE_FUNCTIONS(rows, 3)                                                                        \
    static void dot_##rows(const float *source, const size_t *offsets, const float *gradient,      \
                           size_t count, float *sums)                                              \
    {                                                                                              \
        dot_body(source, offsets, gradient, count, sums, rows);                                    \
    }
#define TILE_ROW(kind, rows)                                                                       \
    {                                                                                              \
        kind##_##rows##x1, kind##_##rows##x2, kind##_##rows##x3                                    \
    }

TILE_ROW_FUNCTIONS(1)
TILE_ROW_FUNCTIONS(2)
TILE_ROW_FUNCTIONS(3)
TILE_ROW_FUNCTIONS(4)
#if defined(__aarch64__)
TILE_ROW_FUNCTIONS(5)
TILE_ROW_FUNCTIONS(6)
#define TILE_TABLE(kind)                                                                           \
    TILE_ROW(kind, 1), TILE_ROW(kind, 2), TILE_ROW(kind, 3), TILE_ROW(kind, 4), TILE_ROW(kind, 5), \
        TILE_ROW(kind, 6)
#define TILE_DOTS dot_1, dot_2, dot_3, dot_4, dot_5, dot_6
#elif defined(__AVX512F__)
TILE_ROW_FUNCTIONS(5)
TILE_ROW_FUNCTIONS(6)
TILE_ROW_FUNCTIONS(7)
TILE_ROW_FUNCTIONS(8)
#define TILE_TABLE(kind)                                                                           \
    TILE_ROW(kind, 1), TILE_ROW(kind, 2), TILE_ROW(kind, 3), TILE_ROW(kind, 4), TILE_ROW(kind, 5), \
        TILE_ROW(kind, 6), TILE_ROW(kind, 7), TILE_ROW(kind, 8)
#define TILE_DOTS dot_1, dot_2, dot_3, dot_4, dot_5, dot_6, dot_7, dot_8
#else
#define TILE_TABLE(kind) TILE_ROW(kind, 1), TILE_ROW(kind, 2), TILE_ROW(kind, 3), TILE_ROW(kind, 4)
#define TILE_DOTS        dot_1, dot_2, dot_3, dot_4
#endif

/* The functions by [rows - 1][vectors - 1]; tiles_dot by [rows - 1]. */
static tile_correlate *const tiles_correlate[TILE_ROWS][TILE_VECTORS] = {TILE_TABLE(correlate)};
static tile_gradient *const tiles_gradient[TILE_ROWS][TILE_VECTORS] = {TILE_TABLE(gradient)};
static tile_dot *const tiles_dot[TILE_ROWS] = {TILE_DOTS};

#endif
