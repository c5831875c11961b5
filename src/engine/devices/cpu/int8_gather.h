/* int8_gather.h: blocks of channels whose lanes come from several places: other blocks, other
 * positions or other arrays (int8.h). A gather has one source for each place; the lanes that come
 * from it are selected by a shuffle of bytes, and the sources are joined. Only kernels of int8 use
 * it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_INT8_GATHER_H
#define TINCA_ENGINE_DEVICES_CPU_INT8_GATHER_H

#include "engine/devices/cpu/int8.h"

enum { INT8_ABSENT = 0x80 };

/* The source of some lanes of a block: a block of channels, dy rows below and dx positions to the
 * right. */
struct int8_source {
    const uint8_t *from; /* position 0 */
    ptrdiff_t dy, dx;
    bytes lanes; /* by lane of the result: the lane of the source, or INT8_ABSENT */
};

struct int8_gather {
    size_t count;
    struct int8_source sources[INT8_BLOCK];
};

/* Adds lane `to` of the result, which is lane `lane` of the source. `gather` is empty at first
 * (count 0); a lane that is never added is 0. */
static inline void int8_gather_add(struct int8_gather *gather, size_t to, const uint8_t *from,
                                   ptrdiff_t dy, ptrdiff_t dx, size_t lane)
{
    const struct int8_source *sources = gather->sources;
    size_t s = 0;
    while (s < gather->count &&
           (sources[s].from != from || sources[s].dy != dy || sources[s].dx != dx))
        s++;
    if (s == gather->count) {
        gather->sources[s] = (struct int8_source){from, dy, dx, bytes_splat(INT8_ABSENT)};
        gather->count++;
    }
    gather->sources[s].lanes[to] = (uint8_t)lane;
}

/* Returns the lanes of one source. */
static inline bytes int8_select_lanes(bytes values, bytes lanes)
{
#if defined(__SSSE3__)
    return (bytes)_mm_shuffle_epi8((__m128i)values, (__m128i)lanes);
#else
    bytes result = {0};
    for (size_t i = 0; i < INT8_BLOCK; i++)
        result[i] = lanes[i] < INT8_BLOCK ? values[lanes[i]] : 0;
    return result;
#endif
}

/* Returns the block at a position, `offset` values behind position 0, of a gather without dy and
 * dx. */
static inline bytes int8_gather_at(const struct int8_gather *gather, size_t offset)
{
    bytes result = {0};
    for (size_t s = 0; s < gather->count; s++)
        result |= int8_select_lanes(bytes_load(gather->sources[s].from + offset),
                                    gather->sources[s].lanes);
    return result;
}

/* The sources of one row; the lanes of those above and below the array are part of `outside`. */
struct int8_gather_row {
    size_t count, width;
    ptrdiff_t left, right; /* the largest distances to the left and to the right */
    bytes outside, beside; /* beside: a value outside of the array, in all lanes */
    struct int8_source sources[INT8_BLOCK];
};

static inline void int8_gather_find_row(const struct int8_gather *gather, struct shape in, size_t y,
                                        uint8_t beside, struct int8_gather_row *row)
{
    row->count = 0;
    row->width = in.width;
    row->left = row->right = 0;
    row->outside = (bytes){0};
    row->beside = bytes_splat(beside);
    for (size_t s = 0; s < gather->count; s++) {
        struct int8_source source = gather->sources[s];
        const size_t from_y = y + (size_t)source.dy; /* above the array: a large number */
        if (from_y >= in.height) {
            row->outside |= int8_select_lanes(row->beside, source.lanes);
            continue;
        }
        row->left = source.dx < -row->left ? -source.dx : row->left;
        row->right = source.dx > row->right ? source.dx : row->right;
        source.from += ((ptrdiff_t)(from_y * in.width) + source.dx) * INT8_BLOCK;
        row->sources[row->count++] = source;
    }
}

/* Returns the block at position x, where a source may lie beside the array. */
static inline bytes int8_gather_edge(const struct int8_gather_row *row, size_t x)
{
    bytes result = row->outside;
    for (size_t s = 0; s < row->count; s++) {
        const struct int8_source *source = &row->sources[s];
        const bool inside = x + (size_t)source->dx < row->width;
        result |= int8_select_lanes(
            inside ? bytes_load(source->from + x * INT8_BLOCK) : row->beside, source->lanes);
    }
    return result;
}

/* Writes row `y` of a block, whose sources have the shape `in`; `beside` is the value outside. */
static inline void int8_gather_write(const struct int8_gather *gather, struct shape in, size_t y,
                                     uint8_t beside, uint8_t *to)
{
    struct int8_gather_row row;
    int8_gather_find_row(gather, in, y, beside, &row);
    size_t x = 0;
    for (; x < min_size((size_t)row.left, in.width); x++)
        bytes_store(to + x * INT8_BLOCK, int8_gather_edge(&row, x));
#if defined(__AVX2__)
    const size_t end = in.width > (size_t)row.right ? in.width - (size_t)row.right : 0;
    const __m256i outside = _mm256_broadcastsi128_si256((__m128i)row.outside);
    for (; x + 2 <= end; x += 2) {
        __m256i two = outside;
        for (size_t s = 0; s < row.count; s++) {
            const uint8_t *from = row.sources[s].from + x * INT8_BLOCK;
            const __m256i lanes = _mm256_broadcastsi128_si256((__m128i)row.sources[s].lanes);
            two = _mm256_or_si256(
                two, _mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)from), lanes));
        }
        _mm256_storeu_si256((__m256i *)(to + x * INT8_BLOCK), two);
    }
#endif
    for (; x < in.width; x++)
        bytes_store(to + x * INT8_BLOCK, int8_gather_edge(&row, x));
}

#endif
