/* SqueezeNet's fire module (Iandola et al. 2016) with batch norm, as in the studies: a squeezing
 * layer reduces the channels (1x1, BN, ReLU), two branches, 1x1 and 3x3, expand them (each with
 * BN), the branches are concatenated, and a ReLU follows. Keys: the channels "squeeze" and "expand"
 * (of each branch; the output has twice as many).
 *
 * The 3x3 branch, for q squeezed and e expanded channels:
 *   none     3x3 q->e with bias
 *   dsc      dw q, pw q->e
 *   shuffle  channel shuffle, 3x3 q->e in q groups; the 1x1 convolutions have g groups, only the
 *            squeezing one has a bias, and a batch norm follows the concatenation
 *   shift    channel shift, pw q->e with bias */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

struct fire {
    size_t squeeze, expand;
    size_t groups; /* groups of the 1x1 convolutions */
};

static size_t build_plain(struct block_site *site, const struct fire *fire, size_t input)
{
    return block_add_conv_bn(
        site, "3x3", input,
        (struct block_conv){.outputs = fire->expand, .kernel = 3, .bias = true});
}

static size_t build_separable(struct block_site *site, const struct fire *fire, size_t input)
{
    return block_add_separable_bn(site, "3x3", input, fire->expand, 1);
}

static size_t build_shuffle(struct block_site *site, const struct fire *fire, size_t input)
{
    size_t node = block_add_shuffle(site, "shuffle", input, fire->groups);
    return block_add_conv_bn(
        site, "3x3", node,
        (struct block_conv){.outputs = fire->expand, .kernel = 3, .groups = fire->squeeze});
}

static size_t build_shift(struct block_site *site, const struct fire *fire, size_t input)
{
    size_t node = block_add(site, &op_channel_shift, "shift", input, NULL);
    return block_add_conv_bn(
        site, "3x3", node, (struct block_conv){.outputs = fire->expand, .kernel = 1, .bias = true});
}

static const struct variant {
    size_t (*build_3x3)(struct block_site *site, const struct fire *fire, size_t input);
    bool grouped; /* the 1x1 convolutions have groups, and a batch norm follows the concatenation */
} variants[TECHNIQUES] = {
    [TECHNIQUE_NONE] = {build_plain, false},
    [TECHNIQUE_DSC] = {build_separable, false},
    [TECHNIQUE_SHUFFLE] = {build_shuffle, true},
    [TECHNIQUE_SHIFT] = {build_shift, false},
};

/* Returns the row of the technique; a technique without a row leaves the block as it is. */
static const struct variant *choose_variant(struct block_site *site)
{
    const struct variant *variant = &variants[site->variation->technique];
    if (!variant->build_3x3)
        return &variants[TECHNIQUE_NONE];
    site->used_technique = true;
    return variant;
}

static struct fire read_keys(struct block_site *site, struct layer_reader *reader,
                             const struct variant *variant)
{
    struct fire fire = {
        .squeeze = block_read_width(site, reader, "squeeze"),
        .expand = block_read_width(site, reader, "expand"),
        .groups = variant->grouped ? site->variation->groups : 1,
    };
    if (reader->failed || !variant->grouped)
        return fire;
    /* block_read_width has made squeeze a multiple of the groups */
    if (fire.expand < fire.squeeze)
        layer_fail(reader, "expand", "must not be below \"squeeze\" with the technique shuffle");
    fire.expand -= fire.expand % fire.squeeze;
    return fire;
}

static size_t build(struct block_site *site, struct layer_reader *reader)
{
    const struct variant *variant = choose_variant(site);
    struct fire fire = read_keys(site, reader, variant);
    if (reader->failed)
        return 0;
    bool whole = site->graph->nodes[site->input].output.channels % fire.groups;
    struct block_conv squeeze = {
        .outputs = fire.squeeze, .kernel = 1, .groups = whole ? 1 : fire.groups, .bias = true};
    struct block_conv expand = {
        .outputs = fire.expand, .kernel = 1, .groups = fire.groups, .bias = !variant->grouped};
    size_t node = block_add_conv_bn(site, "_squeeze", site->input, squeeze);
    node = block_add(site, &op_relu, "relu_squeeze", node, NULL);
    size_t one = block_add_conv_bn(site, "1x1", node, expand);
    size_t three = variant->build_3x3(site, &fire, node);
    node = block_join(site, &op_concat, "concat", (size_t[]){one, three}, 2);
    if (variant->grouped)
        node = block_add_batch_norm(site, "bn", node);
    return block_add(site, &op_relu, "relu", node, NULL);
}

const struct block block_fire = {.name = "fire", .build = build};
