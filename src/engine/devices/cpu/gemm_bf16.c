/* Matrix products of bf16 (gemm_bf16.h), with vectors; amx_gemm.c does the same with AMX.
 *
 * A tile has up to TILE_MAX rows and GEMM_COLUMNS columns, and sums all pairs in registers: for
 * each pair it loads two vectors of columns, and multiplies them with a pair of each row, which is
 * broadcast. The columns are the inner loop, so that `c` is written row by row.
 */
#include "engine/devices/cpu/gemm_bf16.h"
#include "engine/devices/cpu/tiles.h"

enum { TILE_MAX = 14 }; /* 28 sums, two vectors of columns and a broadcast pair fit the registers */

/* Computes `rows` rows of a group of columns. */
TILE_INLINE void multiply(const struct gemm_bf16_call *g, size_t row, size_t column, const int rows)
{
    const float *b = g->b + column * g->depth / 2;
    const element *a = g->a + row * g->a_stride;
    vector sums[TILE_MAX][2];
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
        sums[r][0] = sums[r][1] = vector_splat(0);
    for (size_t k = 0; k < g->depth; k += 2, b += GEMM_COLUMNS) {
        const vector first = vector_load(b), second = vector_load(b + LANES);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            const vector pair = term_load(a + (size_t)r * g->a_stride + k);
            sums[r][0] = term_add(sums[r][0], first, pair);
            sums[r][1] = term_add(sums[r][1], second, pair);
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        gemm_store(g, row + (size_t)r, column, sums[r][0]);
        if (column + LANES < g->columns)
            gemm_store(g, row + (size_t)r, column + LANES, sums[r][1]);
    }
}

typedef void tile_function(const struct gemm_bf16_call *g, size_t row, size_t column);

#define TILE(rows)                                                                                 \
    static void tile_##rows(const struct gemm_bf16_call *g, size_t row, size_t column)             \
    {                                                                                              \
        multiply(g, row, column, rows);                                                            \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)

/* The functions by [rows - 1]. */
static tile_function *const tiles[TILE_MAX] = {tile_1,  tile_2,  tile_3,  tile_4, tile_5,
                                               tile_6,  tile_7,  tile_8,  tile_9, tile_10,
                                               tile_11, tile_12, tile_13, tile_14};

void KERNEL(gemm_bf16)(const struct gemm_bf16_call *g)
{
    const size_t count = divide_up(g->rows, TILE_MAX);
    for (size_t i = 0; i < count; i++) {
        const size_t row = chunk_begin(g->rows, count, i);
        const size_t rows = chunk_begin(g->rows, count, i + 1) - row;
        for (size_t column = 0; column < g->columns; column += GEMM_COLUMNS)
            tiles[rows - 1](g, row, column);
    }
}
