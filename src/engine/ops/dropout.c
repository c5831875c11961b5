/* Dropout (Srivastava et al. 2014) in the inverted form: in training each value becomes zero with
 * probability `rate`, and the others are scaled by 1 / (1 - rate). Inference leaves the values
 * unchanged, unless `always` is set, for the noise of a generator (Isola et al. 2017).
 *
 * The mask of element i of the batch depends on (seed, node, iteration, i) only, so the backward
 * pass draws the same mask and needs no saved values. With the attribute `channels`, i counts the
 * channels of all images instead, and a whole channel becomes zero, since neighbouring values of a
 * channel say nearly the same (Tompson et al. 2015).
 */
#include "engine/graph/micro_batch.h"
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include "base/random.h"

static void read_dropout(struct layer_reader *reader, union attributes *attributes)
{
    attributes->dropout.rate = (float)layer_number(reader, "rate", 0.5, 0, 0.999);
    attributes->dropout.always = layer_flag(reader, "always", false);
    attributes->dropout.channels = layer_flag(reader, "channels", false);
}

static bool write_dropout(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "rate", attributes->dropout.rate) &&
           json_add_bool(layer, "always", attributes->dropout.always) &&
           (!attributes->dropout.channels || json_add_bool(layer, "channels", true));
}

static bool infer_dropout(struct graph *graph, struct node *node, const struct shape *inputs,
                          struct error *error)
{
    float rate = node->attributes.dropout.rate;
    if (!(rate >= 0 && rate < 1))
        return error_set(error, ERROR_INPUT, node->name, "choose a \"rate\" of 0 to below 1",
                         "dropout: a rate of %g cannot be used", rate);
    return rule_same_shape(graph, node, inputs, error);
}

/* Returns the factor of element i: 0 or 1 / (1 - rate). */
static float factor(const struct kernel_call *call, size_t i)
{
    i += micro_batch_first(call->micro_batch) * shape_count(call->site->node->output);
    if (call->site->node->attributes.dropout.channels)
        i /= shape_area(call->site->node->output);
    const float rate = call->site->node->attributes.dropout.rate;
    if (!call->site->training && !call->site->node->attributes.dropout.always)
        return 1.0f;
    struct random_block block = random_philox(
        call->seed, RANDOM_DROPOUT, (uint32_t)call->node_number, call->iteration << 32 | i / 4);
    return random_to_unit(block.word[i % 4]) >= rate ? 1.0f / (1.0f - rate) : 0.0f;
}

static void forward_dropout(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++)
        call->output[i] = call->inputs[0][i] * factor(call, i);
}

static void backward_dropout(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++)
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * factor(call, i));
}

static const struct kernel reference = {
    .name = "dropout reference",
    .instruction_set = "any",
    .op = &op_dropout,
    .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_dropout,
    .backward = backward_dropout,
};

const struct op op_dropout = {
    .name = "dropout",
    .description = "in training, some values or whole channels at random become zero",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_IDENTITY_IN_INFERENCE | OP_READS_WHOLE_BATCH,
    .read = read_dropout,
    .write = write_dropout,
    .infer = infer_dropout,
    .reference = &reference,
};
