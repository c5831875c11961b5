/* The residual block for CIFAR (He et al. 2016, section 4.2): the sum of a body of convolutions and
 * a shortcut, which is the identity or a projection (a 1x1 convolution with the block's stride and
 * a batch norm). Keys: "output" channels, "stride" (1), "shortcut": "identity" or "projection" (by
 * default the identity if the shapes allow it).
 *
 * The bodies, for i input and o output channels and stride s:
 *   none        3x3 i->o (s), BN, ReLU, 3x3 o->o, BN
 *   dsc         dw i (s), pw i->o, BN, ReLU, dw o, pw o->o, BN
 *   shuffle     pw i->o in groups, BN, ReLU, channel shuffle, dw o (s), BN, pw o->o in groups, BN
 *   shift       pw i->o, BN, ReLU, channel shift, pw o->o (s), BN, ReLU
 *   bottleneck  pw i->m, BN, ReLU, 3x3 m->m (s), BN, ReLU, pw m->o, BN; m = int(o / block rate)
 * A ReLU follows the addition; with shift it comes before the addition. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <string.h>

/* In the studies the first pointwise convolution of a shuffle block is not grouped if its input has
 * the 16 channels of the stem. */
enum { STEM_CHANNELS = 16 };

struct residual {
    size_t inputs, outputs, stride; /* channels */
    size_t middle;                  /* channels of a bottleneck */
    bool projection;
};

static size_t build_plain(struct block_site *site, const struct residual *residual)
{
    size_t outputs = residual->outputs;
    struct block_conv first = {.outputs = outputs, .kernel = 3, .stride = residual->stride};
    size_t node = block_add_conv_bn(site, "1", site->input, first);
    node = block_add(site, &op_relu, "relu1", node, NULL);
    return block_add_conv_bn(site, "2", node, (struct block_conv){.outputs = outputs, .kernel = 3});
}

static size_t build_separable(struct block_site *site, const struct residual *residual)
{
    size_t node =
        block_add_separable_bn(site, "1", site->input, residual->outputs, residual->stride);
    node = block_add(site, &op_relu, "relu1", node, NULL);
    return block_add_separable_bn(site, "2", node, residual->outputs, 1);
}

static size_t build_shuffle(struct block_site *site, const struct residual *residual)
{
    size_t groups = site->variation->groups, outputs = residual->outputs;
    bool whole = residual->inputs == STEM_CHANNELS || residual->inputs % groups;
    struct block_conv first = {.outputs = outputs, .kernel = 1, .groups = whole ? 1 : groups};
    struct block_conv depthwise = {
        .outputs = outputs, .kernel = 3, .stride = residual->stride, .groups = outputs};
    size_t node = block_add_conv_bn(site, "1", site->input, first);
    node = block_add(site, &op_relu, "relu1", node, NULL);
    node = block_add_shuffle(site, "shuffle", node, groups);
    node = block_add_conv_bn(site, "2", node, depthwise);
    return block_add_conv_bn(
        site, "3", node, (struct block_conv){.outputs = outputs, .kernel = 1, .groups = groups});
}

static size_t build_shift(struct block_site *site, const struct residual *residual)
{
    size_t outputs = residual->outputs;
    size_t node = block_add_conv_bn(site, "1", site->input,
                                    (struct block_conv){.outputs = outputs, .kernel = 1});
    node = block_add(site, &op_relu, "relu1", node, NULL);
    node = block_add(site, &op_channel_shift, "shift", node, NULL);
    node = block_add_conv_bn(
        site, "2", node,
        (struct block_conv){.outputs = outputs, .kernel = 1, .stride = residual->stride});
    return block_add(site, &op_relu, "relu2", node, NULL);
}

static size_t build_bottleneck(struct block_site *site, const struct residual *residual)
{
    size_t middle = residual->middle;
    size_t node = block_add_conv_bn(site, "1", site->input,
                                    (struct block_conv){.outputs = middle, .kernel = 1});
    node = block_add(site, &op_relu, "relu1", node, NULL);
    node = block_add_conv_bn(
        site, "2", node,
        (struct block_conv){.outputs = middle, .kernel = 3, .stride = residual->stride});
    node = block_add(site, &op_relu, "relu2", node, NULL);
    return block_add_conv_bn(site, "3", node,
                             (struct block_conv){.outputs = residual->outputs, .kernel = 1});
}

struct variant {
    size_t (*build_body)(struct block_site *site, const struct residual *residual);
    bool relu_before_sum; /* the body ends with the ReLU */
};

static const struct variant variants[TECHNIQUES] = {
    [TECHNIQUE_NONE] = {build_plain, false},
    [TECHNIQUE_DSC] = {build_separable, false},
    [TECHNIQUE_SHUFFLE] = {build_shuffle, false},
    [TECHNIQUE_SHIFT] = {build_shift, true},
};
static const struct variant bottleneck = {build_bottleneck, false};

/* Returns the row of the technique; a technique without a row leaves the block as it is. */
static const struct variant *choose_variant(struct block_site *site)
{
    const struct variant *variant = &variants[site->variation->technique];
    if (site->variation->block_rate > 0)
        return &bottleneck;
    if (!variant->build_body)
        return &variants[TECHNIQUE_NONE];
    site->used_technique = true;
    return variant;
}

static struct residual read_keys(struct block_site *site, struct layer_reader *reader)
{
    double rate = site->variation->block_rate;
    struct residual residual = {
        .inputs = site->graph->nodes[site->input].output.channels,
        .outputs = block_read_width(site, reader, "output"),
        .stride = layer_count(reader, "stride", 1, 1, 64),
    };
    bool same_shape = residual.stride == 1 && residual.outputs == residual.inputs;
    const char *shortcut = layer_text(reader, "shortcut", same_shape ? "identity" : "projection");
    residual.projection = strcmp(shortcut, "projection") == 0;
    residual.middle = rate > 0 ? (size_t)((double)residual.outputs / rate) : residual.outputs;
    if (!residual.projection && strcmp(shortcut, "identity") != 0)
        layer_fail(reader, "shortcut", "\"%s\" is neither \"identity\" nor \"projection\"",
                   shortcut);
    else if (!residual.projection && !same_shape)
        layer_fail(reader, "shortcut", "an identity needs the input's channels and stride 1");
    else if (residual.middle == 0)
        layer_fail(reader, "output", "of %zu leaves no channels at this block rate",
                   residual.outputs);
    return residual;
}

static size_t build(struct block_site *site, struct layer_reader *reader)
{
    const struct variant *variant = choose_variant(site);
    struct residual residual = read_keys(site, reader);
    if (reader->failed)
        return 0;
    site->used_block_rate = site->variation->block_rate > 0;
    size_t body = variant->build_body(site, &residual);
    size_t shortcut = site->input;
    if (residual.projection)
        shortcut = block_add_conv_bn(site, "_shortcut", site->input,
                                     (struct block_conv){.outputs = residual.outputs,
                                                         .kernel = 1,
                                                         .stride = residual.stride});
    size_t sum = block_join(site, &op_add, "add", (size_t[]){body, shortcut}, 2);
    return variant->relu_before_sum ? sum : block_add(site, &op_relu, "relu", sum, NULL);
}

const struct block block_residual = {.name = "residual", .build = build};
