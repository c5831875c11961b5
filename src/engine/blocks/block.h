/* block.h: pieces of networks that the studies vary: several layers under one name.
 *
 * A block reads its keys from a layer of a network file, appends nodes to the graph and says which
 * one is its output. Each block keeps its technique variants in one table, so that adding a
 * technique is one row there; plain_conv.c holds the table for convolutions outside of blocks.
 * Adding a block is one file here and one line in block_table (network.c).
 */
#ifndef TINCA_ENGINE_BLOCKS_BLOCK_H
#define TINCA_ENGINE_BLOCKS_BLOCK_H

#include "base/error.h"
#include "engine/blocks/technique.h"
#include "engine/graph/graph.h"
#include "engine/graph/layer_reader.h"

#include <stddef.h>

/* How the network is to differ from its file. */
struct variation {
    enum technique technique;
    size_t groups;         /* of shuffle */
    double width_rate;     /* every width becomes int(width / rate); 0: as it is */
    size_t width_multiple; /* what changed widths are rounded down to a multiple of */
    double block_rate;     /* of bottlenecks; 0: none */
};

/* What a block builds into. Appending after a failure does nothing: check `failed` once at the end.
 * The flags at the end say what of the variation made a difference. */
struct block_site {
    struct graph *graph;
    const struct variation *variation;
    const char *name; /* of the block: its nodes are NAME.something */
    size_t input;     /* node it reads */
    struct error *error;
    bool failed;
    bool used_technique, used_width_rate, used_block_rate;
};

struct block {
    const char *name; /* as in network files */
    /* Reads the block's keys and builds it; returns the output node (any number when it failed). */
    size_t (*build)(struct block_site *site, struct layer_reader *reader);
};

#define BLOCK(name) extern const struct block block_##name;
#include "engine/blocks/blocks.inc"

/* Returns the block of that name, or NULL if there is none. */
const struct block *block_find(const char *name);

/* A layer's number of outputs as the variation wants it: divided by the width rate and, under
 * shuffle, rounded down to a multiple of the groups. 0: nothing is left. */
size_t block_vary_width(struct block_site *site, size_t width);

/* Reads `key`, a number of channels that is required, and varies it. The word "classes" means what
 * it says whatever the variation. */
size_t block_read_width(struct block_site *site, struct layer_reader *reader, const char *key);

/* Appends one node that reads `input`, named SITE.suffix, or SITE where the suffix is "". Returns
 * its number. */
size_t block_add(struct block_site *site, const struct op *op, const char *suffix, size_t input,
                 const union attributes *attributes);
size_t block_join(struct block_site *site, const struct op *op, const char *suffix,
                  const size_t *inputs, size_t count);
size_t block_add_shuffle(struct block_site *site, const char *suffix, size_t input, size_t groups);

/* A convolution with `kernel`/2 padding and He initialisation; a `stride` or `groups` of 0 means 1.
 */
struct block_conv {
    size_t outputs, kernel, stride, groups;
    bool bias;
};
size_t block_add_conv(struct block_site *site, const char *suffix, size_t input,
                      struct block_conv conv);
size_t block_add_batch_norm(struct block_site *site, const char *suffix, size_t input);

/* A convolution and its batch norm, SITE.conv<suffix> and SITE.bn<suffix>. */
size_t block_add_conv_bn(struct block_site *site, const char *suffix, size_t input,
                         struct block_conv conv);

/* A depthwise 3x3 convolution and a 1x1 convolution to `outputs` without bias, then batch norm:
 * SITE.dw<suffix>, SITE.pw<suffix> and SITE.bn<suffix>. */
size_t block_add_separable_bn(struct block_site *site, const char *suffix, size_t input,
                              size_t outputs, size_t stride);

/* A convolution by the general rule of plain_conv.c. Its nodes are SITE.suffix or, where the
 * technique takes several, SITE.suffix.something. */
size_t block_add_plain_conv(struct block_site *site, const char *suffix, size_t input,
                            const struct conv_attributes *conv);

/* The layer {"op": "conv"} of a network file; `last` when it is the network's last layer with
 * weights. */
size_t block_build_plain_conv(struct block_site *site, struct layer_reader *reader, bool last);

#endif
