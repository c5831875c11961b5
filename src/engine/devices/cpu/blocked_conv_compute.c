/* Computes a region of a convolution to a channel-blocked array (blocked_conv.h) tile by tile, with
 * vectors. amx_conv_compute.c does the same with AMX. */
#include "engine/devices/cpu/blocked_conv.h"
#include "engine/devices/cpu/blocked_tiles.h"

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
        source += c->step_height * c->source.row;
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
    /* Members are set one by one: to clear all first would take as long as a few tiles. */
    struct blocked_terms t;
    t.step = c->step_width * c->source.block;
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
