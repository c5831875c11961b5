/* int8_tiles.h: the inner loops of convolutions of integers. A tile is the sums of some output
 * positions for one or two blocks of output channels; all of its sums fit into registers. */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_TILES_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_TILES_H

#include "engine/devices/cpu/int8_conv.h"

#if defined(__AVX512F__)
enum { TILE_POSITIONS = 8, TILE_BLOCKS = 2 };
#elif defined(__AVX2__)
enum { TILE_POSITIONS = 6, TILE_BLOCKS = 1 };
#elif defined(__aarch64__)
enum { TILE_POSITIONS = 4, TILE_BLOCKS = 1 };
#else
enum { TILE_POSITIONS = 2, TILE_BLOCKS = 1 };
#endif

/* Adds the terms of a run to the sums of a tile. */
static inline __attribute__((always_inline)) void
multiply_run(const factor *const *at, size_t offset, size_t terms, const term_weight *weights,
             size_t column_step, size_t positions, size_t blocks,
             sums (*tile)[TILE_BLOCKS * BLOCK_VECTORS])
{
    for (size_t t = 0; t < terms; t++) {
        sums w[TILE_BLOCKS * BLOCK_VECTORS];
#pragma GCC unroll 8
        for (size_t v = 0; v < blocks * BLOCK_VECTORS; v++)
            w[v] = sums_load(weights + v / BLOCK_VECTORS * column_step +
                             (t * INT8_BLOCK + v % BLOCK_VECTORS * LANES) * TERM_FACTORS);
#pragma GCC unroll 8
        for (size_t p = 0; p < positions; p++) {
            const sums x = term_splat(at[p] + offset + t * TERM_FACTORS);
#pragma GCC unroll 8
            for (size_t v = 0; v < blocks * BLOCK_VECTORS; v++)
                tile[p][v] = term_multiply(tile[p][v], w[v], x);
        }
    }
}

/* Computes the sums of a tile. from[p] is the first factor under the window of position p. */
static inline __attribute__((always_inline)) void
multiply_tile_of(const struct int8_conv *c, const factor *const *from, const term_weight *weights,
                 size_t positions, size_t blocks, sums (*to)[TILE_BLOCKS * BLOCK_VECTORS])
{
    const size_t column_step = int8_conv_column_weights(c);
    const factor *at[TILE_POSITIONS];
    sums tile[TILE_POSITIONS][TILE_BLOCKS * BLOCK_VECTORS];
#pragma GCC unroll 8
    for (size_t p = 0; p < positions; p++) {
        at[p] = from[p];
#pragma GCC unroll 8
        for (size_t v = 0; v < blocks * BLOCK_VECTORS; v++)
            tile[p][v] = (sums){0};
    }
    for (size_t ky = 0; ky < c->w.kernel_height; ky++)
        for (size_t run = 0; run < c->row_runs; run++) {
            multiply_run(at, ky * c->dilation_height * c->row_factors + run * c->run_step,
                         c->run_terms, weights, column_step, positions, blocks, tile);
            weights += c->run_terms * TERM_FACTORS * INT8_BLOCK;
        }
#pragma GCC unroll 8
    for (size_t p = 0; p < positions; p++)
#pragma GCC unroll 8
        for (size_t v = 0; v < blocks * BLOCK_VECTORS; v++)
            to[p][v] = tile[p][v];
}

/* Has the number of positions and blocks as constants, so that the sums are in registers. */
typedef void tile_function(const struct int8_conv *c, const factor *const *at,
                           const term_weight *weights, sums (*to)[TILE_BLOCKS * BLOCK_VECTORS]);

#define TILE(POSITIONS, BLOCKS)                                                                    \
    static __attribute__((noinline)) void tile_##POSITIONS##x##BLOCKS(                             \
        const struct int8_conv *c, const factor *const *at, const term_weight *weights,            \
        sums(*to)[TILE_BLOCKS * BLOCK_VECTORS])                                                    \
    {                                                                                              \
        multiply_tile_of(c, at, weights, POSITIONS, BLOCKS, to);                                   \
    }

TILE(1, 1)
TILE(2, 1)
#if defined(__AVX2__) || defined(__aarch64__)
TILE(3, 1)
TILE(4, 1)
#endif
#if defined(__AVX2__)
TILE(5, 1)
TILE(6, 1)
#endif
#if defined(__AVX512F__)
TILE(7, 1)
TILE(8, 1)
TILE(1, 2)
TILE(2, 2)
TILE(3, 2)
TILE(4, 2)
TILE(5, 2)
TILE(6, 2)
TILE(7, 2)
TILE(8, 2)
#endif
#undef TILE

/* The functions by blocks - 1 and positions - 1. */
static tile_function *const tile_functions[TILE_BLOCKS][TILE_POSITIONS] = {
#if defined(__AVX512F__)
    {tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1, tile_7x1, tile_8x1},
    {tile_1x2, tile_2x2, tile_3x2, tile_4x2, tile_5x2, tile_6x2, tile_7x2, tile_8x2},
#elif defined(__AVX2__)
    {tile_1x1, tile_2x1, tile_3x1, tile_4x1, tile_5x1, tile_6x1},
#elif defined(__aarch64__)
    {tile_1x1, tile_2x1, tile_3x1, tile_4x1},
#else
    {tile_1x1, tile_2x1},
#endif
};

#endif
