/* Computes a region of a convolution to a channel-blocked array (blocked_conv.h) tile by tile, with
 * vectors. amx_conv_compute.c does the same with AMX.
 *
 * A tile computes a few neighbouring positions of a row and one or two blocks of output channels:
 *
 *   out[p][v] = sum over k of source[offsets[k] + p * step] * weights[k][v]
 *
 * where every out[p][v] is a register with a block of channels, every weights[k][v] a vector, and
 * the source a single value that is broadcast. A term k is an input channel under an element of the
 * window. The source may therefore have any layout: the offsets describe it. In bf16 a term is a
 * pair of neighbouring channels: the processor adds the products of two pairs to each lane.
 *
 * Sums are taken in the same order and in the same blocks of terms as those of tiles.h, which gives
 * the reason for the blocks. Both give the same bits. In bf16 there is one block, since the
 * rounding of the operands is much larger than that of the sums, and earlier sums would be rounded
 * to bf16. */
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/blocked_conv.h"
#include "engine/devices/cpu/tiles.h"

/* The terms of a block of sums. */
#define TILE_TERMS (TERM_VALUES > 1 ? SIZE_MAX : TERM_BLOCK)

/* The data that all tiles of a column of output channels share. */
struct blocked_terms {
    const size_t *offsets;
    /* Two groups of a grouped convolution may share a block of output channels. The lanes that are
     * set in `second` then read the source at other_offsets; NULL: no lane does. */
    const size_t *other_offsets;
    vector_indices second;
    const float *weights; /* [term][block][lane]; in bf16, a float stands for a pair */
    size_t terms;
    size_t step;       /* elements of the source from position to position */
    size_t out_step;   /* elements of the results from position to position */
    const float *bias; /* [block][lane], with which the sums begin; NULL: `out` has earlier sums */
    bool last;         /* no terms follow: the epilogue is applied */
    size_t out_plane, summand_plane; /* elements from block to block */
    const struct epilogue *epilogue;
};

typedef void blocked_tile(const struct blocked_terms *terms, const element *source, element *out,
                          const element *summand);

/* Returns the source of a term for one position, in all lanes. */
TILE_INLINE vector tile_source(const struct blocked_terms *t, const element *source,
                               const element *other, const bool two_groups)
{
    const vector value = term_load(source);
    if (!two_groups)
        return value;
    const vector second = term_load(other);
    return (vector)((~t->second & (vector_indices)value) | (t->second & (vector_indices)second));
}

/* Sums one block of terms in registers and stores the results. */
TILE_INLINE void tile_terms(const struct blocked_terms *t, size_t begin, size_t end,
                            const element *source, element *out, const element *summand,
                            const int count, const int blocks, const size_t step,
                            const size_t out_step, const bool two_groups)
{
    const bool more = !t->bias || begin > 0, last = t->last && end == t->terms;
    const float *weights = t->weights + begin * (size_t)blocks * LANES;
    const struct epilogue epilogue = *t->epilogue;
    const size_t out_plane = t->out_plane, summand_plane = t->summand_plane;
    vector sum[TILE_POSITIONS][TILE_BLOCKS];
#pragma GCC unroll 16
    for (int p = 0; p < count; p++)
#pragma GCC unroll 2
        for (int v = 0; v < blocks; v++)
            sum[p][v] = more ? (vector){0} : vector_load(t->bias + v * LANES);
    for (size_t k = begin; k < end; k++, weights += blocks * LANES) {
        const element *from = source + t->offsets[k];
        const element *other = two_groups ? source + t->other_offsets[k] : from;
        vector weight[TILE_BLOCKS];
#pragma GCC unroll 2
        for (int v = 0; v < blocks; v++)
            weight[v] = vector_load(weights + v * LANES);
#pragma GCC unroll 16
        for (int p = 0; p < count; p++) {
            const vector value =
                tile_source(t, from + (size_t)p * step, other + (size_t)p * step, two_groups);
#pragma GCC unroll 2
            for (int v = 0; v < blocks; v++)
                sum[p][v] = term_add(sum[p][v], weight[v], value);
        }
    }
#pragma GCC unroll 16
    for (int p = 0; p < count; p++)
#pragma GCC unroll 2
        for (int v = 0; v < blocks; v++) {
            element *to = out + (size_t)v * out_plane + (size_t)p * out_step;
            const vector total = more ? element_load(to) + sum[p][v] : sum[p][v];
            const element *add = summand ? summand + (size_t)v * summand_plane + p * LANES : NULL;
            element_store(to, last ? epilogue_apply(&epilogue, total, add) : total);
        }
}

TILE_INLINE void tile_body(const struct blocked_terms *t, const element *source, element *out,
                           const element *summand, const int count, const int blocks,
                           const size_t step, const size_t out_step, const bool two_groups)
{
    for (size_t k = 0; k < t->terms; k += min_size(TILE_TERMS, t->terms))
        tile_terms(t, k, k + min_size(TILE_TERMS, t->terms - k), source, out, summand, count,
                   blocks, step, out_step, two_groups);
}

/* dense: both steps are that of neighbouring positions in a channel-blocked array. */
#define BLOCKED_TILE(count, blocks)                                                                \
    static void dense_##blocks##x##count(const struct blocked_terms *t, const element *source,     \
                                         element *out, const element *summand)                     \
    {                                                                                              \
        tile_body(t, source, out, summand, count, blocks, LANES, LANES, false);                    \
    }                                                                                              \
    static void strided_##blocks##x##count(const struct blocked_terms *t, const element *source,   \
                                           element *out, const element *summand)                   \
    {                                                                                              \
        tile_body(t, source, out, summand, count, blocks, t->step, t->out_step, false);            \
    }
#define BLOCKED_PAIR_TILE(count)                                                                   \
    static void two_groups_1x##count(const struct blocked_terms *t, const element *source,         \
                                     element *out, const element *summand)                         \
    {                                                                                              \
        tile_body(t, source, out, summand, count, 1, t->step, t->out_step, true);                  \
    }
#define BLOCKED_TILES(count)   BLOCKED_TILE(count, 1) BLOCKED_TILE(count, 2) BLOCKED_PAIR_TILE(count)
#define BLOCKED_TILES_1(count) BLOCKED_TILE(count, 1) BLOCKED_PAIR_TILE(count)

BLOCKED_TILES(1)
BLOCKED_TILES(2)
BLOCKED_TILES(3)
BLOCKED_TILES(4)
BLOCKED_TILES(5)
BLOCKED_TILES(6)
#if defined(__AVX512F__) || defined(__aarch64__)
BLOCKED_TILES(7)
BLOCKED_TILES(8)
BLOCKED_TILES(9)
BLOCKED_TILES(10)
BLOCKED_TILES(11)
BLOCKED_TILES(12)
BLOCKED_TILES(13)
BLOCKED_TILES(14)
BLOCKED_TILES_1(15)
BLOCKED_TILES_1(16)
#define BLOCKED_LIST_2(kind)                                                                       \
    kind##_2x1, kind##_2x2, kind##_2x3, kind##_2x4, kind##_2x5, kind##_2x6, kind##_2x7,            \
        kind##_2x8, kind##_2x9, kind##_2x10, kind##_2x11, kind##_2x12, kind##_2x13, kind##_2x14
#define BLOCKED_LIST_1(kind)                                                                       \
    kind##_1x1, kind##_1x2, kind##_1x3, kind##_1x4, kind##_1x5, kind##_1x6, kind##_1x7,            \
        kind##_1x8, kind##_1x9, kind##_1x10, kind##_1x11, kind##_1x12, kind##_1x13, kind##_1x14,   \
        kind##_1x15, kind##_1x16
#else
BLOCKED_TILES_1(7)
BLOCKED_TILES_1(8)
BLOCKED_TILES_1(9)
BLOCKED_TILES_1(10)
#define BLOCKED_LIST_2(kind) kind##_2x1, kind##_2x2, kind##_2x3, kind##_2x4, kind##_2x5, kind##_2x6
#define BLOCKED_LIST_1(kind)                                                                       \
    kind##_1x1, kind##_1x2, kind##_1x3, kind##_1x4, kind##_1x5, kind##_1x6, kind##_1x7,            \
        kind##_1x8, kind##_1x9, kind##_1x10
#endif

/* The functions by [positions - 1], for one and for two blocks of channels. */
static blocked_tile *const tiles_dense_1[TILE_POSITIONS_1] = {BLOCKED_LIST_1(dense)};
static blocked_tile *const tiles_dense_2[TILE_POSITIONS_2] = {BLOCKED_LIST_2(dense)};
static blocked_tile *const tiles_strided_1[TILE_POSITIONS_1] = {BLOCKED_LIST_1(strided)};
static blocked_tile *const tiles_strided_2[TILE_POSITIONS_2] = {BLOCKED_LIST_2(strided)};
static blocked_tile *const tiles_two_groups[TILE_POSITIONS_1] = {BLOCKED_LIST_1(two_groups)};

/* Returns the tile function for `positions` positions of a column. */
static blocked_tile *find_tile(const struct column *column, const struct blocked_terms *t,
                               size_t positions)
{
    if (column->two_groups)
        return tiles_two_groups[positions - 1];
    if (t->step == LANES && t->out_step == LANES)
        return column->blocks == 2 ? tiles_dense_2[positions - 1] : tiles_dense_1[positions - 1];
    return column->blocks == 2 ? tiles_strided_2[positions - 1] : tiles_strided_1[positions - 1];
}

/* Computes the region with the terms of `t`. */
static void compute_rows(const struct blocked_conv *c, const struct conv_region *region,
                         const struct blocked_terms *t)
{
    const struct column *column = region->column;
    const struct conv_residue *y = region->terms.y, *x = region->terms.x;
    const size_t most = column->blocks == 2 ? TILE_POSITIONS_2 : TILE_POSITIONS_1;
    const size_t tiles = divide_up(x->count, most), least = x->count / tiles;
    const size_t larger = x->count % tiles; /* tiles with a position more */
    blocked_tile *const large_tile = larger ? find_tile(column, t, least + 1) : NULL;
    blocked_tile *const small_tile = find_tile(column, t, least);
    const struct blocked *summand = &c->epilogue.summand;
    const size_t first = y->first + region->begin * y->step;
    const element *source = region->source;
    element *out = blocked_at(&c->out, region->image, column->block, first) + x->first * LANES;
    const element *add =
        summand->values ? blocked_at(summand, region->image, column->block, first) : NULL;
    for (size_t j = region->begin; j < region->end; j++) {
        for (size_t i = 0, at = 0; i < tiles; i++) {
            blocked_tile *const compute = i < larger ? large_tile : small_tile;
            compute(t, source + at * t->step, out + at * t->out_step,
                    add ? add + at * LANES : NULL);
            at += least + (i < larger);
        }
        source += c->y.step * c->source.row;
        out += y->step * c->out.row;
        if (add)
            add += y->step * summand->row;
    }
}

void KERNEL(blocked_conv_compute)(const struct blocked_conv *c, const struct conv_region *region)
{
    const struct column *column = region->column;
    const struct conv_terms *terms = &region->terms;
    const size_t *offsets = KERNEL(blocked_conv_offsets)(c, terms, (size_t)(column - c->columns));
    const float *weights = KERNEL(blocked_conv_weights)(c, terms, column);
    /* members are set one by one, because clearing all would take as long as a few tiles */
    struct blocked_terms t;
    t.step = c->x.step * c->source.block;
    t.out_step = terms->x->step * LANES;
    t.out_plane = c->out.plane;
    t.summand_plane = c->epilogue.summand.plane;
    t.epilogue = &c->epilogue;
    for (size_t lane = 0; lane < LANES && column->two_groups; lane++)
        t.second[lane] = lane >= column->split ? -1 : 0;
    for (size_t k = 0; k < terms->count; k += c->block_terms) {
        t.terms = min_size(c->block_terms, terms->count - k);
        t.offsets = offsets + k;
        t.other_offsets = t.offsets + terms->count;
        t.weights = weights + k * column->blocks * LANES;
        t.bias = k == 0 && !c->accumulate ? c->bias + column->block * LANES : NULL;
        t.last = k + t.terms == terms->count;
        compute_rows(c, region, &t);
    }
}
