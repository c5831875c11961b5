/* amx.h: tiles of AMX, the matrix registers of some x86 processors. Only the kernels of this folder
 * use it.
 *
 * There are eight tile registers of up to 16 rows of 64 bytes, configured by a structure in memory.
 * The kernels use them for products of bf16, in pairs, and of integers of 8 bits, in quads:
 *
 *   sums [rows][16] += values [rows][pairs][2] * weights [pairs][16][2]
 *   sums [rows][16] += values [rows][quads][4] * weights [quads][16][4]
 *
 *   SUMS_0 to SUMS_3         sums, float32 or 32-bit integers
 *   VALUES_0, VALUES_1       pairs or quads of values, row after row
 *   WEIGHTS_0, WEIGHTS_1     a row of pairs or quads for each of 16 results
 *
 * Sums of bf16 of one instruction round to nearest, and treat numbers below the normal ones as 0
 * (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS); sums of
 * integers are exact (TDPBUSD). Reading the next tiles takes less time than four products, so loops
 * that multiply two tiles of values with two of weights, or four with one, keep the multiplier
 * busy.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_AMX_H
#define TINCA_ENGINE_DEVICES_CPU_AMX_H

#include "engine/devices/cpu/elements.h"

#include <immintrin.h>

enum { TILE_ROWS_MAX = 16, TILE_BYTES = 64, TILE_PAIRS = 16, TILE_FLOATS = 256 };

/* The registers. GCC pastes their numbers into the text of instructions. */
#define SUMS_0    0
#define SUMS_1    1
#define SUMS_2    2
#define SUMS_3    3
#define VALUES_0  4
#define VALUES_1  5
#define WEIGHTS_0 6
#define WEIGHTS_1 7

/* The configuration that LDTILECFG loads. */
struct amx_configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};
_Static_assert(sizeof(struct amx_configuration) == 64, "LDTILECFG reads 64 bytes");

/* Makes earlier writes visible to instructions that read memory by a pointer: the compiler does not
 * know that tile loads read memory. */
static inline void amx_fence(void)
{
    __asm__ volatile("" ::: "memory");
}

/* Configures the tiles: `rows` rows of sums and of values, and `pairs` pairs or quads. Sets all to
 * zero. */
static inline void amx_configure(size_t rows, size_t pairs)
{
    struct amx_configuration c = {.palette = 1};
    for (size_t i = 0; i < 8; i++) {
        const bool weights = i >= WEIGHTS_0, sums = i <= SUMS_3;
        c.rows[i] = (uint8_t)(weights ? pairs : rows);
        c.row_bytes[i] = (uint16_t)(weights || sums ? TILE_BYTES : pairs * sizeof(float));
    }
    amx_fence();
    _tile_loadconfig(&c);
}

/* Sets the four tiles of sums to 0. */
static inline void amx_clear_sums(void)
{
    _tile_zero(SUMS_0);
    _tile_zero(SUMS_1);
    _tile_zero(SUMS_2);
    _tile_zero(SUMS_3);
}

/* Writes the four tiles to sums[tile][row][lane], of 4 bytes each. */
static inline void amx_store_sums(void *to)
{
    float *sums = to;
    _tile_stored(SUMS_0, sums, TILE_BYTES);
    _tile_stored(SUMS_1, sums + TILE_FLOATS, TILE_BYTES);
    _tile_stored(SUMS_2, sums + 2 * TILE_FLOATS, TILE_BYTES);
    _tile_stored(SUMS_3, sums + 3 * TILE_FLOATS, TILE_BYTES);
}

/* Releases the tiles, so that the kernel need not save them for this thread. */
static inline void amx_release(void)
{
    _tile_release();
}

/* A long row of results is computed in strips of equal length, at most TILE_ROWS_MAX. The last one
 * overlaps the one before, so that one configuration serves all. */
struct amx_strips {
    size_t count, length;
    size_t total; /* results of the row */
};

static inline struct amx_strips amx_strips_of(size_t results)
{
    const size_t count = divide_up(results, TILE_ROWS_MAX);
    return (struct amx_strips){
        .count = count, .length = divide_up(results, count), .total = results};
}

/* Returns the first result of a strip. */
static inline size_t amx_strip_begin(const struct amx_strips *strips, size_t i)
{
    return min_size(i * strips->length, strips->total - strips->length);
}

/* Returns how many results of a strip the one before it has as well. */
static inline size_t amx_strip_overlap(const struct amx_strips *strips, size_t i)
{
    return i * strips->length - amx_strip_begin(strips, i);
}

#endif
