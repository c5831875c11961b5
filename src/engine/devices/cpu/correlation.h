/* correlation.h: the correlation that direct convolution consists of. Only the kernels of this
 * folder use it; conv.c explains the algorithm.
 *
 * A correlation is one forward pass, or one gradient of the input, for all images of a call. Its
 * geometry follows from the shapes (correlation_geometry.c). A call packs the weights
 * (correlation_weights.c), computes one panel of results at a time (conv.c) and stores the panels
 * (correlation_store.c).
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_CORRELATION_H
#define TINCA_ENGINE_DEVICES_CPU_CORRELATION_H

#include "engine/devices/cpu/conv.h"

enum {
    FEW_IMAGES = 16,
    WANTED_TASKS = 32,
    MAX_STRIDE = 16,
    PANEL_FLOATS = 1 << 16, /* results in a panel: a quarter of a small level-2 cache */
    PANEL_POSITIONS = 2 * TILE_VECTORS * LANES, /* fewer would leave vectors half empty */
    BLOCK_SOURCE = 4096,     /* floats of the source that a step reads: they fit a level-1 cache */
    BLOCK_WEIGHTS = 3 << 15, /* floats of weights that all tiles read: they fit the level 2 */
};

/* The positions along an axis that are equal modulo the stride. In the forward pass there is one
 * residue, which has all positions. */
struct residue {
    size_t first, step, count;        /* positions in the destination */
    size_t taps, first_tap, tap_step; /* window elements that reach these positions */
    size_t base;                      /* source position of position 0 and the first tap */
    size_t source_step;               /* by which that of each further tap is less */
};

struct correlation {
    struct conv_sizes sizes;
    struct layout layout;
    bool plain;                           /* the source can be read where it is, without a copy */
    bool in_place;                        /* sums are taken in the destination */
    size_t source_channels, rows, groups; /* channels of one group */
    struct shape destination;
    struct residue y[MAX_STRIDE], x[MAX_STRIDE];
    size_t residues_y, residues_x;
    size_t *offsets; /* source offsets of the terms of all residues, y-major */
    float *weights;  /* packed: [group][residue][tile][term][row] */
    float *shared;   /* few images: the copies of all sources */
    char *scratch;   /* per thread: a copy of a source (many images), then a panel of results */
    size_t scratch_bytes, source_floats;
    size_t tiles, panel_rows;
    size_t block_terms; /* terms summed before the next ones begin, a multiple of TERM_BLOCK */
    size_t bands, bands_rows, tile_blocks; /* few images: how results are divided into tasks */
    size_t task_rows;                      /* most rows of a task */
    /* set for each call: */
    const struct kernel_call *call;
    const float *from, *bias;
    float *to;
    bool accumulate, backward;
};

/* Some rows of one residue of an image, for tiles [begin, end) of a group. */
struct panel {
    size_t image, group, begin, end;
    const struct residue *y, *x;
    size_t first_row, rows;
    const float *source, *weights; /* the source of row 0; the weights of tile 0 */
    const size_t *offsets;
    size_t terms;
    float *results; /* scratch: [channel][position] */
};

static inline bool few_images(const struct conv_sizes *s)
{
    return s->batch * s->groups < FEW_IMAGES;
}

/* Returns the floats of one row of results: a panel of rows of positions, in whole vectors. */
static inline size_t result_stride(const struct correlation *c)
{
    return round_up(c->panel_rows * c->layout.pitch, LANES) + LANES;
}

static inline size_t residue_terms(const struct correlation *c, size_t ry, size_t rx)
{
    return c->backward ? c->source_channels * c->y[ry].taps * c->x[rx].taps
                       : c->source_channels * c->sizes.taps;
}

/* Returns the first channel of a tile, counted within its group. */
static inline size_t first_channel(const struct correlation *c, size_t tile)
{
    return piece_begin(c->rows, c->tiles, tile);
}

/* Returns the destination's plane of a channel, which is counted over all groups. */
static inline float *panel_plane(const struct correlation *c, const struct panel *p, size_t channel)
{
    return c->to + (p->image * c->groups * c->rows + channel) * shape_area(c->destination);
}

/* to[i * step] = results[i], or adds the results to what is there. */
static inline void store_row(const struct correlation *c, const float *results, size_t count,
                             float *to, size_t step)
{
    if (step == 1)
        store_or_add(to, results, count, c->accumulate);
    else if (c->accumulate)
        for (size_t i = 0; i < count; i++)
            to[i * step] += results[i];
    else
        for (size_t i = 0; i < count; i++)
            to[i * step] = results[i];
}

/* Returns the correlation of a site, with its arrays taken from `carve`; the members of the call
 * are not set. */
struct correlation KERNEL(correlation_make)(const struct kernel_site *site, bool backward,
                                            struct carve *carve);

/* Returns the bytes of workspace that correlation_make takes, for the site's batch and for every
 * smaller one. */
size_t KERNEL(correlation_bytes)(const struct kernel_site *site, bool backward);

/* Writes the offsets of all terms. */
void KERNEL(correlation_set_offsets)(const struct correlation *c);

/* Packs the call's weights, in parallel. */
void KERNEL(correlation_pack)(const struct correlation *c);

/* Returns where tile `tile` of (group, residue) begins in the packed weights. */
float *KERNEL(correlation_packed)(const struct correlation *c, size_t group, size_t ry, size_t rx,
                                  size_t tile);

/* Stores a panel that was summed in scratch. */
void KERNEL(correlation_store)(const struct correlation *c, const struct panel *p);

#endif
