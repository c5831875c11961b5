/* The helpers with which a block builds its nodes: widths after the variation, nodes named after
 * the block, and the groups of nodes that several blocks use. A failure sets site->failed, and
 * later calls do nothing. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* --- widths --- */

size_t block_vary_width(struct block_site *site, size_t width)
{
    const struct variation *variation = site->variation;
    bool rounded = variation->technique == TECHNIQUE_SHUFFLE;
    if (variation->width_rate > 0) {
        width = (size_t)((double)width / variation->width_rate);
        site->used_width_rate = true;
        rounded = true;
    }
    return rounded ? width - width % variation->width_multiple : width;
}

size_t block_read_width(struct block_site *site, struct layer_reader *reader, const char *key)
{
    size_t width = layer_count(reader, key, LAYER_REQUIRED, 1, 65536);
    if (layer_value_is_classes(reader, key))
        return width;
    size_t varied = block_vary_width(site, width);
    if (varied == 0 && !reader->failed)
        layer_fail(reader, key, "of %zu leaves no channels at this width rate and these groups",
                   width);
    return varied;
}

/* --- nodes --- */

static size_t append(struct block_site *site, const struct op *op, const char *suffix,
                     const size_t *inputs, size_t count, const union attributes *attributes)
{
    char name[2 * NODE_NAME_SIZE];
    size_t added = 0;
    if (site->failed)
        return 0;
    snprintf(name, sizeof name, "%s%s%s", site->name, *suffix ? "." : "", suffix);
    site->failed =
        !graph_add(site->graph, op, name, inputs, count, attributes, &added, site->error);
    return added;
}

size_t block_add(struct block_site *site, const struct op *op, const char *suffix, size_t input,
                 const union attributes *attributes)
{
    return append(site, op, suffix, &input, 1, attributes);
}

size_t block_join(struct block_site *site, const struct op *op, const char *suffix,
                  const size_t *inputs, size_t count)
{
    return append(site, op, suffix, inputs, count, NULL);
}

size_t block_add_shuffle(struct block_site *site, const char *suffix, size_t input, size_t groups)
{
    union attributes shuffle = {.shuffle = {.groups = groups}};
    return block_add(site, &op_channel_shuffle, suffix, input, &shuffle);
}

static size_t add_conv(struct block_site *site, const char *suffix, size_t input,
                       struct block_conv conv)
{
    size_t stride = conv.stride ? conv.stride : 1, pad = conv.kernel / 2;
    union attributes attributes = {
        .conv = {.window = {conv.kernel, conv.kernel, stride, stride, pad, pad},
                 .outputs = conv.outputs,
                 .groups = conv.groups ? conv.groups : 1,
                 .bias = conv.bias,
                 .weight_init = {INITIALISE_HE, 0},
                 .bias_init = {INITIALISE_CONSTANT, 0}}};
    return block_add(site, &op_conv, suffix, input, &attributes);
}

size_t block_add_batch_norm(struct block_site *site, const char *suffix, size_t input)
{
    union attributes norm = {.batch_norm = {.epsilon = 1e-5f, .momentum = 0.1f}};
    return block_add(site, &op_batch_norm, suffix, input, &norm);
}

size_t block_add_conv_bn(struct block_site *site, const char *suffix, size_t input,
                         struct block_conv conv)
{
    char name[NODE_NAME_SIZE];
    snprintf(name, sizeof name, "conv%s", suffix);
    size_t node = add_conv(site, name, input, conv);
    snprintf(name, sizeof name, "bn%s", suffix);
    return block_add_batch_norm(site, name, node);
}

size_t block_add_separable_bn(struct block_site *site, const char *suffix, size_t input,
                              size_t outputs, size_t stride)
{
    char name[NODE_NAME_SIZE];
    if (site->failed)
        return 0;
    size_t channels = site->graph->nodes[input].output.channels;
    snprintf(name, sizeof name, "dw%s", suffix);
    struct block_conv depthwise = {
        .outputs = channels, .kernel = 3, .stride = stride, .groups = channels};
    size_t node = add_conv(site, name, input, depthwise);
    snprintf(name, sizeof name, "pw%s", suffix);
    node = add_conv(site, name, node, (struct block_conv){.outputs = outputs, .kernel = 1});
    snprintf(name, sizeof name, "bn%s", suffix);
    return block_add_batch_norm(site, name, node);
}
