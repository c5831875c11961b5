/* Matrix products of bf16 (gemm_bf16.h) with AMX: two strips of rows with a group of columns, whose
 * two halves are a tile each. */
#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/gemm_bf16.h"
#include "engine/devices/cpu/tiles.h"

enum { STRIPS = 2, HALVES = 2 };

/* Writes the sums of `count` strips to sums[strip][half][row][lane]. */
TILE_INLINE void multiply(const struct gemm_bf16_call *g, const element *const a[STRIPS],
                          const float *b, float *sums, const int count)
{
    const size_t stride = g->a_stride * sizeof *a[0], row = GEMM_COLUMNS * sizeof(float);
    amx_fence();
    amx_clear_sums();
    for (size_t k = 0; k < g->depth; k += GEMM_STEP, b += GEMM_STEP / 2 * GEMM_COLUMNS) {
        _tile_loadd(WEIGHTS_0, b, row);
        _tile_loadd(VALUES_0, a[0] + k, stride);
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
        _tile_loadd(WEIGHTS_1, b + LANES, row);
        _tile_dpbf16ps(SUMS_1, VALUES_0, WEIGHTS_1);
        if (count > 1) {
            _tile_loadd(VALUES_1, a[1] + k, stride);
            _tile_dpbf16ps(SUMS_2, VALUES_1, WEIGHTS_0);
            _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_1);
        }
    }
    amx_store_sums(sums);
}

/* Stores the sums of a strip, [half][row][lane]. */
static void store_strip(const struct gemm_bf16_call *g, const struct amx_strips *strips, size_t i,
                        size_t column, const float *sums)
{
    const size_t begin = amx_strip_begin(strips, i);
    for (size_t r = amx_strip_overlap(strips, i); r < strips->length; r++)
        for (size_t half = 0; half < HALVES; half++)
            if (column + half * LANES < g->columns)
                gemm_store(g, begin + r, column + half * LANES,
                           vector_load(sums + half * TILE_FLOATS + r * LANES));
}

/* Computes strips [i, i + count) of a group of columns. */
static void compute_strips(const struct gemm_bf16_call *g, const struct amx_strips *strips,
                           size_t i, size_t count, size_t column)
{
    _Alignas(TILE_BYTES) float sums[STRIPS * HALVES * TILE_FLOATS];
    const float *b = g->b + column * g->depth / 2;
    const element *a[STRIPS];
    for (size_t s = 0; s < count; s++)
        a[s] = g->a + amx_strip_begin(strips, i + s) * g->a_stride;
    if (count > 1)
        multiply(g, a, b, sums, 2);
    else
        multiply(g, a, b, sums, 1);
    for (size_t s = 0; s < count; s++)
        store_strip(g, strips, i + s, column, sums + s * HALVES * TILE_FLOATS);
}

void KERNEL(gemm_bf16)(const struct gemm_bf16_call *g)
{
    const struct amx_strips strips = amx_strips_of(g->rows);
    amx_configure(strips.length, TILE_PAIRS);
    for (size_t i = 0; i < strips.count; i += STRIPS)
        for (size_t column = 0; column < g->columns; column += GEMM_COLUMNS)
            compute_strips(g, &strips, i, min_size(STRIPS, strips.count - i), column);
    amx_release();
}
