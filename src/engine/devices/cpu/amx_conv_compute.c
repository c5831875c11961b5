/* Computes a region of a convolution to a channel-blocked array (blocked_conv.h) with AMX.
 *
 * A term is a block of channels under one or two neighbouring elements of the window. Its values
 * for neighbouring results are rows of a tile, `step_width` positions apart in the source, and its
 * packed weights are the rows of another tile. The results of a row of the image are computed in
 * strips; a group of strips, of one or several rows, is multiplied with the same weights: two
 * strips with two blocks of output channels, or four strips with one.
 *
 * All terms are summed in the tile. Then the bias, or what the results were before, is added, and
 * the epilogue is applied.
 */
#include "engine/devices/cpu/amx.h"
#include "engine/devices/cpu/blocked_conv.h"
#include "engine/devices/cpu/tiles.h"

enum { MAX_STRIPS = 4, SUM_TILES = 4 };

/* The data that all tiles of a region share. */
struct shared {
    const struct blocked_conv *conv;
    const struct conv_region *region;
    const size_t *offsets;
    const float *weights;
    size_t terms;
    struct amx_strips strips; /* of a row */
};

/* A strip: where the terms of its first result lie, and its number. */
struct strip {
    const element *source;
    size_t row, number; /* row of the region; strip of the row */
};

/* --- products --- */

/* Writes the sums of all terms to sums[strip][block][result][lane]. */
TILE_INLINE void multiply(const struct shared *s, const struct strip *strips, float *sums,
                          const int count, const int blocks)
{
    const size_t step = s->conv->x.step * s->conv->source.block * sizeof(element);
    const size_t row = (size_t)blocks * LANES, term = s->conv->term_floats * row;
    const float *weights = s->weights;
    amx_fence();
    amx_clear_sums();
    for (size_t k = 0; k < s->terms; k++, weights += term) {
        const size_t at = s->offsets[k];
        _tile_loadd(WEIGHTS_0, weights, row * sizeof(float));
        _tile_loadd(VALUES_0, strips[0].source + at, step);
        _tile_dpbf16ps(SUMS_0, VALUES_0, WEIGHTS_0);
        if (blocks > 1) {
            _tile_loadd(WEIGHTS_1, weights + LANES, row * sizeof(float));
            _tile_dpbf16ps(SUMS_1, VALUES_0, WEIGHTS_1);
        }
        if (count > 1)
            _tile_loadd(VALUES_1, strips[1].source + at, step);
        if (count > 1 && blocks > 1) {
            _tile_dpbf16ps(SUMS_2, VALUES_1, WEIGHTS_0);
            _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_1);
        } else if (count > 1) {
            _tile_dpbf16ps(SUMS_1, VALUES_1, WEIGHTS_0);
        }
        if (count > 2) {
            _tile_loadd(VALUES_0, strips[2].source + at, step);
            _tile_dpbf16ps(SUMS_2, VALUES_0, WEIGHTS_0);
        }
        if (count > 3) {
            _tile_loadd(VALUES_1, strips[3].source + at, step);
            _tile_dpbf16ps(SUMS_3, VALUES_1, WEIGHTS_0);
        }
    }
    amx_store_sums(sums);
}

static void multiply_strips(const struct shared *s, const struct strip *strips, size_t count,
                            float *sums)
{
    const bool pair = s->region->column->blocks > 1;
    if (pair && count == 1)
        multiply(s, strips, sums, 1, 2);
    else if (pair)
        multiply(s, strips, sums, 2, 2);
    else if (count == 1)
        multiply(s, strips, sums, 1, 1);
    else if (count == 2)
        multiply(s, strips, sums, 2, 1);
    else if (count == 3)
        multiply(s, strips, sums, 3, 1);
    else
        multiply(s, strips, sums, 4, 1);
}

/* --- results --- */

/* Stores the results of a strip for one block of output channels. */
static void store_strip(const struct shared *s, const struct strip *strip, size_t block,
                        const float *sums)
{
    const struct blocked_conv *c = s->conv;
    const struct conv_residue *y = s->region->terms.y, *x = s->region->terms.x;
    const struct epilogue epilogue = c->epilogue;
    const struct blocked *summand = &epilogue.summand;
    const size_t row = y->first + strip->row * y->step, image = s->region->image;
    const size_t at = amx_strip_begin(&s->strips, strip->number);
    element *out = blocked_at(&c->out, image, block, row) + x->first * LANES;
    const element *add = summand->values ? blocked_at(summand, image, block, row) : NULL;
    const vector bias = vector_load(c->bias + block * LANES);
    const size_t step = x->step * LANES, length = s->strips.length;
    const bool accumulate = c->accumulate;
    for (size_t i = amx_strip_overlap(&s->strips, strip->number); i < length; i++) {
        element *to = out + (at + i) * step;
        const vector before = accumulate ? element_load(to) : bias;
        const vector total = vector_load(sums + i * LANES) + before;
        element_store(to, epilogue_apply(&epilogue, total, add ? add + (at + i) * LANES : NULL));
    }
}

static void compute_strips(const struct shared *s, const struct strip *strips, size_t count)
{
    const struct column *column = s->region->column;
    _Alignas(TILE_BYTES) float sums[SUM_TILES * TILE_FLOATS];
    multiply_strips(s, strips, count, sums);
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < column->blocks; b++)
            store_strip(s, &strips[i], column->block + b,
                        sums + (i * column->blocks + b) * TILE_FLOATS);
}

void KERNEL(blocked_conv_compute)(const struct blocked_conv *c, const struct conv_region *region)
{
    const struct column *column = region->column;
    const struct conv_terms *terms = &region->terms;
    const struct shared shared = {
        .conv = c,
        .region = region,
        .offsets = KERNEL(blocked_conv_offsets)(c, terms, (size_t)(column - c->columns)),
        .weights = KERNEL(blocked_conv_weights)(c, terms, column),
        .terms = terms->count,
        .strips = amx_strips_of(terms->x->count)};
    const size_t most = column->blocks > 1 ? 2 : MAX_STRIPS;
    struct strip strips[MAX_STRIPS];
    size_t count = 0;
    amx_configure(shared.strips.length, TERM_VALUES / 2 * min_size(TERM_TAPS, terms->x->taps));
    for (size_t j = region->begin; j < region->end; j++)
        for (size_t i = 0; i < shared.strips.count; i++) {
            const element *row = region->source + (j - region->begin) * c->y.step * c->source.row;
            const size_t at = amx_strip_begin(&shared.strips, i);
            strips[count++] = (struct strip){
                .source = row + at * c->x.step * c->source.block, .row = j, .number = i};
            if (count == most) {
                compute_strips(&shared, strips, count);
                count = 0;
            }
        }
    if (count > 0)
        compute_strips(&shared, strips, count);
    amx_release();
}
