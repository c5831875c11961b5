/* int8_amx.h: products of integers of 8 bits in tiles of AMX (amx.h): the kernels that copy the
 * values and divide the work call int8_amx.c, which multiplies.
 *
 * A tile of values has up to 16 positions (rows), which lie at equal distances in a buffer, and up
 * to 16 terms of each, which are neighbours. A tile of weights has as many terms for the 16 output
 * channels of a column: [term][lane][4], as VNNI has them. The terms of a sum are divided into
 * chunks of as many terms as a tile has. One of the operands is the same for all tiles, so that
 * their loads are shared.
 *
 * Positions behind the last one and terms behind the last of a run are multiplied too: the results
 * of the former are not used, and the weights of the latter are 0. The buffer must be large enough
 * to read them.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_AMX_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_AMX_H

#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/int8.h"

enum {
    AMX_TERMS = 16, /* most terms of a tile */
    AMX_TILES = 4,  /* tiles of sums */
    AMX_SUMS = TILE_ROWS_MAX * INT8_BLOCK,
    /* fewer used positions times terms of a tile: VNNI multiplies them in less time, counting one
     * of its instructions as half a cycle and a product of tiles as 16 */
    AMX_LEAST_PRODUCTS = 64
};

/* The data that all tiles of a layer share. */
struct amx_product {
    size_t chunks;
    size_t chunk_terms;    /* at most AMX_TERMS */
    const size_t *offsets; /* of the chunks, from the first factor of a position */
    size_t step;           /* bytes from one position to the next */
};

/* Returns the bytes of the weights of a column. */
static inline size_t amx_column_bytes(const struct amx_product *p)
{
    return p->chunks * p->chunk_terms * TERM_FACTORS * INT8_BLOCK;
}

/* Divides `count` into chunks of equal size, at most `most`; returns the size. */
static inline size_t amx_chunk(size_t count, size_t most)
{
    return divide_up(count, divide_up(count, most));
}

/* The products of some tiles of values, which begin at `values`, and neighbouring columns. */
struct amx_group {
    const uint8_t *values[AMX_TILES];
    const int8_t *weights; /* of the first column */
    size_t tiles, columns; /* 1 or 2 of each, or one and up to AMX_TILES of the other */
};

/* Writes the sums to totals[tile][column][position][lane], aligned to 64 bytes. The tiles must be
 * configured with chunk_terms. */
void KERNEL(amx_multiply)(const struct amx_product *p, const struct amx_group *group,
                          int32_t *totals);

/* Returns the sums of one position, BLOCK_VECTORS vectors. */
static inline const sums *amx_position_sums(const int32_t *tiles, size_t tile, size_t position)
{
    return (const sums *)(const void *)(tiles + tile * AMX_SUMS + position * INT8_BLOCK);
}

#endif
