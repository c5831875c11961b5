/* blocked_conv.h: convolution to a channel-blocked array, as inference and training share it. Only
 * the kernels of this folder use it.
 *
 *   forward    source: the input. Results: output channels. Terms: (input channel, window element).
 *   backward   source: the output's gradient. Results: the input's gradient. Position q of it gets
 *              weight[t] * gradient[(q + pad - t) / stride] if the stride divides that, so each
 *              residue of q by the stride has a subset of the window's elements t.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_BLOCKED_CONV_H
#define TINCA_ENGINE_DEVICES_CPU_BLOCKED_CONV_H

#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/conv.h"

enum { BLOCKED_MAX_STRIDE = 8, COLUMN_BLOCKS = 2 };

/* The most groups that may have channels in one block of the results. */
enum { BLOCK_GROUPS = TERM_TAPS > 1 ? 1 : 2 };

/* The most positions of a tile with one or two blocks of channels: accumulators, weights and a
 * broadcast value must fit into the registers. */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { TILE_POSITIONS_1 = 16, TILE_POSITIONS_2 = 14 };
#else
enum { TILE_POSITIONS_1 = 10, TILE_POSITIONS_2 = 6 };
#endif
enum { TILE_BLOCKS = COLUMN_BLOCKS, TILE_POSITIONS = TILE_POSITIONS_1 };

/* The source of the terms: an array as it is, or a task's copy of some of its rows. */
struct source {
    bool copied;
    size_t block; /* channels that are neighbours; 1: the plain layout */
    size_t row;   /* elements from row to row; `block` elements from position to position */
    size_t plane; /* elements from block to block */
    size_t top, bottom, left, right; /* positions that terms read outside the source */
};

/* The positions along an axis of the results that are equal modulo a stride: all of them forward.
 */
struct conv_residue {
    size_t first, step, count;        /* positions of the results */
    size_t taps, first_tap, tap_step; /* window elements that reach these positions */
    size_t terms, terms_before;       /* terms along the axis; those of the residues before */
    ptrdiff_t at, direction; /* source position of the first result and element; to the next one */
};

/* The residues of an axis. */
struct conv_residues {
    size_t step;  /* source positions from one result to the next */
    size_t terms; /* of all residues */
    size_t count; /* forward, there is one residue */
    struct conv_residue
        of[BLOCKED_MAX_STRIDE]; /* the last member, because unused ones are not copied */
};

/* One or two (COLUMN_BLOCKS) blocks of results whose tiles read the same terms. */
struct column {
    size_t block, blocks; /* the first block, and how many: 1 or 2 */
    bool two_groups;
    size_t split; /* with two groups: lanes from here on belong to the second one */
};

/* A convolution as its site determines it; it begins the prepared memory. */
struct blocked_conv {
    struct conv_sizes sizes;
    bool backward;
    struct shape from, to; /* of the source and of the results */
    size_t from_channels;  /* channels of a group in the source */
    size_t term_channels;  /* terms of a group under the same elements of the window */
    size_t term_floats;    /* of a lane's weights for one term; in bf16, one is a pair */
    size_t to_channels;    /* channels of a group in the results */
    size_t span; /* rows that the terms of one result lie apart, the first and last included */
    struct source source;
    size_t out_blocks, column_count;
    size_t strip_rows;    /* rows of each residue that are computed before the next ones begin */
    size_t block_terms;   /* terms that all tiles of a strip sum before the next ones begin */
    size_t copy_elements; /* of a thread's copy of the source */
    /* in the prepared memory: */
    struct column *columns;
    size_t *offsets;
    float *bias, *weights;
    /* set for each call: */
    const struct kernel_call *call;
    struct blocked in, out;
    bool accumulate;
    element *copies; /* one for each thread */
    struct epilogue epilogue;
    size_t row_blocks, column_chunks; /* how an image is divided */
    /* These come last, because a forward pass copies only their first residue. */
    struct conv_residues y, x;
};

/* Returns the convolution of a site, with its prepared memory taken from `carve`. `layout` is that
 * of the source. */
struct blocked_conv KERNEL(blocked_conv_make)(const struct kernel_site *site, bool backward,
                                              struct tensor_layout layout, struct carve *carve);

/* Packs the weights, and in the forward pass also applies fused norms. */
void KERNEL(blocked_conv_prepare)(struct blocked_conv *c, const struct kernel_call *call);

/* Computes the results; call, in, out, accumulate, copies and epilogue are set. */
void KERNEL(blocked_conv_run)(struct blocked_conv *c);

/* Computes some rows of the results, forward; the same members are set. */
void KERNEL(blocked_conv_run_rows)(const struct blocked_conv *c, const struct kernel_rows *rows,
                                   size_t thread);

/* Returns the row blocks into which blocked_conv_run divides an image of this site; 0 if its
 * weights are so large that it may divide the columns. */
size_t KERNEL(blocked_conv_row_blocks)(const struct blocked_conv *c,
                                       const struct kernel_site *site);

/* Copies the rows of `channels` channels from `channel` on, a multiple of the block, that result
 * rows [begin, end) of an image read, with zeros around them. */
void KERNEL(blocked_conv_copy)(const struct blocked_conv *c, size_t image, size_t channel,
                               size_t channels, size_t begin, size_t end, element *to);

/* Returns the padding that a source needs so that it is not copied. */
size_t KERNEL(blocked_conv_pad)(const struct blocked_conv *c);

/* The terms of one pair of residues. */
struct conv_terms {
    const struct conv_residue *y, *x;
    size_t count;  /* of a result */
    size_t before; /* of the pairs before this one */
};

/* Returns the terms of the residues y[ry] and x[rx]. */
struct conv_terms KERNEL(blocked_conv_terms)(const struct blocked_conv *c, size_t ry, size_t rx);

/* Returns where the offsets and where the weights of a column begin. */
size_t *KERNEL(blocked_conv_offsets)(const struct blocked_conv *c, const struct conv_terms *terms,
                                     size_t column);
float *KERNEL(blocked_conv_weights)(const struct blocked_conv *c, const struct conv_terms *terms,
                                    const struct column *column);

/* The results of a column in one pair of residues and some rows, in positions of the residues. */
struct conv_region {
    const struct column *column;
    struct conv_terms terms;
    const element *source; /* where the terms of row `begin` lie */
    size_t image, begin, end;
};

/* Computes a region, whose results have at least one term. */
void KERNEL(blocked_conv_compute)(const struct blocked_conv *c, const struct conv_region *region);

/* Returns how many rows of the source `rows` rows of results read. */
size_t KERNEL(blocked_conv_rows_read)(const struct blocked_conv *c, size_t rows);

/* Returns where position (y, x) of source channel `channel` lies, both counted from the position of
 * the first result and -source.top and -source.left at least. It is counted from the start of a
 * copy or of the rows that blocked_conv_source returns. */
size_t KERNEL(blocked_conv_offset)(const struct blocked_conv *c, size_t channel, ptrdiff_t y,
                                   ptrdiff_t x);

/* Returns where the rows that results [begin, ...) of an image read begin, in a source that is not
 * copied. */
const element *KERNEL(blocked_conv_source)(const struct blocked_conv *c, size_t image,
                                           size_t begin);

/* Returns the groups that have a channel in block `block` of the results: the first one and the one
 * after the last. */
void KERNEL(blocked_conv_groups)(const struct blocked_conv *c, size_t block, size_t *begin,
                                 size_t *end);

/* Returns whether no block of the results has channels of more than BLOCK_GROUPS groups, and terms
 * have channels of one group. */
bool KERNEL(blocked_conv_groups_fit)(const struct blocked_conv *c);

/* blocked_weights.c: compute the gradients of weight and bias. */
size_t KERNEL(blocked_weights_workspace)(const struct kernel_site *site);
void KERNEL(blocked_weights_backward)(const struct kernel_call *call);
void KERNEL(blocked_bias_backward)(const struct kernel_call *call);

#endif
