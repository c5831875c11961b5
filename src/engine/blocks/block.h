/* block.h: blocks, the parts of networks that the studies vary: several nodes under one name.
 *
 * A block reads its keys from a layer of a network file, appends nodes to the graph and returns the
 * number of its output node. Each block has one table with a row for each technique, so that a new
 * technique is one row in each block's table; plain_conv.c has the table for convolutions outside
 * blocks. A new block is one file in this folder and one line in blocks.inc.
 */
#ifndef TINCA_ENGINE_BLOCKS_BLOCK_H
#define TINCA_ENGINE_BLOCKS_BLOCK_H

#include "base/error.h"
#include "engine/blocks/technique.h"
#include "engine/graph/graph.h"
#include "engine/graph/layer_reader.h"

#include <stddef.h>

/* The difference between the network and its file. */
struct variation {
    enum technique technique;
    size_t groups;         /* groups of the technique shuffle */
    double width_rate;     /* every width becomes int(width / rate); 0: widths stay */
    size_t width_multiple; /* changed widths are rounded down to a multiple of this */
    double block_rate;     /* residual blocks become bottlenecks of width / rate; 0: they do not */
};

/* The place where a block is built. After a failure the functions below append nothing, so that one
 * check of `failed` at the end is enough. The last flags report which parts of the variation
 * changed the block. */
struct block_site {
    struct graph *graph;
    const struct variation *variation;
    const char *name; /* the block's name; its nodes are NAME.something */
    size_t input;     /* number of the node that the block reads */
    struct error *error;
    bool failed;
    bool used_technique, used_width_rate, used_block_rate;
};

struct block {
    const char *name; /* as in network files */
    /* Reads the block's keys and builds it. Returns the number of the output node; on failure the
     * number means nothing. */
    size_t (*build)(struct block_site *site, struct layer_reader *reader);
};

#define BLOCK(name) extern const struct block block_##name;
#include "engine/blocks/blocks.inc"

/* Returns the block of that name, or NULL if there is none. */
const struct block *block_find(const char *name);

/* Returns a width after the variation: divided by the width rate and, with shuffle, rounded down to
 * a multiple of the groups. Returns 0 if no channel is left. */
size_t block_vary_width(struct block_site *site, size_t width);

/* Reads `key`, a required number of channels, and returns it after the variation. The word
 * "classes" stands for the number of classes, which no variation changes. */
size_t block_read_width(struct block_site *site, struct layer_reader *reader, const char *key);

/* Appends one node that reads `input` and returns its number. The node is called SITE.suffix, or
 * SITE if the suffix is "". `attributes` is NULL for operators without attributes. */
size_t block_add(struct block_site *site, const struct op *op, const char *suffix, size_t input,
                 const union attributes *attributes);

/* Appends one node that reads `count` inputs and has no attributes; returns its number. */
size_t block_join(struct block_site *site, const struct op *op, const char *suffix,
                  const size_t *inputs, size_t count);

/* Appends a channel shuffle and returns its number. */
size_t block_add_shuffle(struct block_site *site, const char *suffix, size_t input, size_t groups);

/* A convolution with padding `kernel` / 2 and He initialisation. A `stride` or `groups` of 0 means
 * 1. */
struct block_conv {
    size_t outputs, kernel, stride, groups;
    bool bias;
};

/* Appends a batch norm with PyTorch's default attributes and returns its number. */
size_t block_add_batch_norm(struct block_site *site, const char *suffix, size_t input);

/* Appends a convolution and its batch norm, SITE.conv<suffix> and SITE.bn<suffix>. Returns the
 * batch norm's number. */
size_t block_add_conv_bn(struct block_site *site, const char *suffix, size_t input,
                         struct block_conv conv);

/* Appends a depthwise 3x3 convolution, a 1x1 convolution to `outputs` channels, both without bias,
 * and a batch norm: SITE.dw<suffix>, SITE.pw<suffix> and SITE.bn<suffix>. Returns the batch norm's
 * number. */
size_t block_add_separable_bn(struct block_site *site, const char *suffix, size_t input,
                              size_t outputs, size_t stride);

/* Appends a convolution, or what the technique replaces it with by the rule of plain_conv.c.
 * Returns the number of the last node. One node is called SITE.suffix, several
 * SITE.suffix.something. */
size_t block_add_plain_conv(struct block_site *site, const char *suffix, size_t input,
                            const struct conv_attributes *conv);

/* Builds the layer {"op": "conv"} of a network file and returns the number of the last node. `last`
 * is set for the network's last layer with weights, which no variation changes. */
size_t block_build_plain_conv(struct block_site *site, struct layer_reader *reader, bool last);

#endif
