/* GoogLeNet's inception module (Szegedy et al. 2015, figure 2b) concatenates four branches that
 * read the same input: 1x1; 1x1 then 3x3; 1x1 then 5x5; 3x3 max pooling then 1x1. A ReLU follows
 * every convolution. Keys: the channels "1x1", "3x3_reduce", "3x3", "5x5_reduce", "5x5" and "pool";
 * "init" and "bias_init" of all convolutions.
 *
 * The studies define no techniques (dsc, shuffle, shift) for this network, so each convolution is
 * replaced as in plain_conv.c. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <stdio.h>

enum branch { ONE, THREE_REDUCE, THREE, FIVE_REDUCE, FIVE, POOL, CONVOLUTIONS };

static const struct {
    const char *key; /* in the file and in the nodes' names */
    size_t kernel;
} convolutions[CONVOLUTIONS] = {
    [ONE] = {"1x1", 1},   [THREE_REDUCE] = {"3x3_reduce", 1},
    [THREE] = {"3x3", 3}, [FIVE_REDUCE] = {"5x5_reduce", 1},
    [FIVE] = {"5x5", 5},  [POOL] = {"pool", 1},
};

static size_t add_conv(struct block_site *site, const struct conv_attributes *convs,
                       enum branch branch, size_t input)
{
    char suffix[NODE_NAME_SIZE];
    size_t node = block_add_plain_conv(site, convolutions[branch].key, input, &convs[branch]);
    snprintf(suffix, sizeof suffix, "relu_%s", convolutions[branch].key);
    return block_add(site, &op_relu, suffix, node, NULL);
}

static void read_keys(struct block_site *site, struct layer_reader *reader,
                      struct conv_attributes *convs)
{
    struct initialiser weight_init =
        layer_initialiser(reader, "init", (struct initialiser){INITIALISE_HE, 0});
    struct initialiser bias_init =
        layer_initialiser(reader, "bias_init", (struct initialiser){INITIALISE_CONSTANT, 0});
    for (size_t i = 0; i < CONVOLUTIONS; i++) {
        size_t kernel = convolutions[i].kernel, pad = kernel / 2;
        convs[i] = (struct conv_attributes){
            .window = {kernel, kernel, 1, 1, pad, pad},
            .outputs = block_read_width(site, reader, convolutions[i].key),
            .groups = 1,
            .bias = true,
            .weight_init = weight_init,
            .bias_init = bias_init,
        };
    }
}

static size_t build(struct block_site *site, struct layer_reader *reader)
{
    struct conv_attributes convs[CONVOLUTIONS];
    union attributes pool = {.pool = {.window = {3, 3, 1, 1, 1, 1}}};
    size_t branches[4];
    read_keys(site, reader, convs);
    if (reader->failed)
        return 0;
    branches[0] = add_conv(site, convs, ONE, site->input);
    branches[1] = add_conv(site, convs, THREE_REDUCE, site->input);
    branches[1] = add_conv(site, convs, THREE, branches[1]);
    branches[2] = add_conv(site, convs, FIVE_REDUCE, site->input);
    branches[2] = add_conv(site, convs, FIVE, branches[2]);
    branches[3] = block_add(site, &op_max_pool, "max_pool", site->input, &pool);
    branches[3] = add_conv(site, convs, POOL, branches[3]);
    return block_join(site, &op_concat, "concat", branches, 4);
}

const struct block block_inception = {.name = "inception", .build = build};
