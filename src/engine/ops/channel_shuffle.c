/* Channel shuffle (Zhang et al. 2018) transposes the channels as a table [groups, C / groups]:
 * output channel i * groups + g is input channel g * (C / groups) + i.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void read_channel_shuffle(struct layer_reader *reader, union attributes *attributes)
{
    attributes->shuffle.groups = layer_count(reader, "groups", LAYER_REQUIRED, 1, 1 << 24);
}

static bool write_channel_shuffle(const union attributes *attributes, struct json *layer)
{
    return json_add_count(layer, "groups", attributes->shuffle.groups);
}

static bool infer_channel_shuffle(struct graph *graph, struct node *node,
                                  const struct shape *inputs, struct error *error)
{
    const size_t groups = node->attributes.shuffle.groups;
    if (!groups || inputs[0].channels % groups)
        return error_set(
            error, ERROR_INPUT, node->name, "choose \"groups\" that divides the channels",
            "channel_shuffle: %zu groups do not divide %zu channels", groups, inputs[0].channels);
    return rule_same_shape(graph, node, inputs, error);
}

/* Returns the input channel that becomes output channel c. */
static size_t source_channel(const struct kernel_call *call, size_t c)
{
    const size_t groups = call->site->node->attributes.shuffle.groups;
    const size_t group_channels = call->site->inputs[0].channels / groups;
    return c % groups * group_channels + c / groups;
}

static void forward_channel_shuffle(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t i = 0; i < area; i++)
                call->output[(n * shape.channels + c) * area + i] =
                    call->inputs[0][(n * shape.channels + source_channel(call, c)) * area + i];
}

static void backward_channel_shuffle(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t i = 0; i < area; i++) {
                size_t source = (n * shape.channels + source_channel(call, c)) * area + i;
                gradient_store(&call->input_gradients[0][source], call->accumulate[0],
                               call->output_gradient[(n * shape.channels + c) * area + i]);
            }
}

static const struct kernel reference = {
    .name = "channel_shuffle reference",
    .instruction_set = "any",
    .op = &op_channel_shuffle,
    .forward = forward_channel_shuffle,
    .backward = backward_channel_shuffle,
};

const struct op op_channel_shuffle = {
    .name = "channel_shuffle",
    .description = "channels reordered so that each group gets some of every group",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_MOVES_CHANNELS,
    .read = read_channel_shuffle,
    .write = write_channel_shuffle,
    .infer = infer_channel_shuffle,
    .reference = &reference,
};
