/* The squeeze-excitation block (Hu et al. 2018): one factor for each channel, computed from the
 * means of all channels, and multiplied with it:
 *
 *   global average pooling, linear to C / reduction, activation, linear to C, gate, channel_scale
 *
 * Keys: "reduction" (4), "activation" (relu) and "gate" (sigmoid). No technique and no rate changes
 * the block; its widths follow from the channels of its input. */
#include "engine/blocks/block.h"

#include "engine/ops/op.h"

#include <string.h>

/* Reads the name of one of `choices`, which ends with NULL; the first one is the default. */
static const struct op *read_choice(struct layer_reader *reader, const char *key,
                                    const char *const *choices, const char *expected)
{
    const char *name = layer_text(reader, key, choices[0]);
    for (size_t i = 0; choices[i]; i++)
        if (strcmp(name, choices[i]) == 0)
            return op_find(name);
    layer_fail(reader, key, "must be one of: %s", expected);
    return op_find(choices[0]);
}

static size_t add_linear(struct block_site *site, const char *suffix, size_t input, size_t outputs)
{
    const union attributes attributes = {.linear = {.outputs = outputs,
                                                    .bias = true,
                                                    .weight_init = {INITIALISE_HE, 0},
                                                    .bias_init = {INITIALISE_CONSTANT, 0}}};
    return block_add(site, &op_linear, suffix, input, &attributes);
}

static size_t build(struct block_site *site, struct layer_reader *reader)
{
    static const char *const activations[] = {"relu", "silu", "hardswish", "gelu", NULL};
    static const char *const gates[] = {"sigmoid", "hardsigmoid", NULL};
    const size_t channels = site->graph->nodes[site->input].output.channels;
    const size_t reduction = layer_count(reader, "reduction", 4, 1, 65536);
    const struct op *activation =
        read_choice(reader, "activation", activations, "relu, silu, hardswish, gelu");
    const struct op *gate = read_choice(reader, "gate", gates, "sigmoid, hardsigmoid");
    const union attributes pool = {.pool = {.global = true}};
    if (!reader->failed && channels < reduction)
        layer_fail(reader, "reduction", "of %zu leaves nothing of %zu channels", reduction,
                   channels);
    if (reader->failed)
        return 0;
    size_t node = block_add(site, &op_average_pool, "pool", site->input, &pool);
    node = add_linear(site, "fc1", node, channels / reduction);
    node = block_add(site, activation, "activation", node, NULL);
    node = add_linear(site, "fc2", node, channels);
    node = block_add(site, gate, "gate", node, NULL);
    return block_join(site, &op_channel_scale, "scale", (size_t[]){site->input, node}, 2);
}

const struct block block_squeeze_excitation = {.name = "squeeze_excitation", .build = build};
