/* PReLU (He et al. 2015): y = x for x > 0, else a[c] x, with a slope for each channel that is
 * learnt:
 *
 *   a'[c] = sum of g x over all x <= 0 of channel c
 *
 * A slope may become negative, so y does not determine x, and the backward pass reads the input.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_prelu(struct layer_reader *reader, union attributes *attributes)
{
    attributes->prelu.slope = (float)layer_number(reader, "slope", 0.25, -1000, 1000);
}

static bool write_prelu(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "slope", attributes->prelu.slope);
}

static bool infer_prelu(struct graph *graph, struct node *node, const struct shape *inputs,
                        struct error *error)
{
    const struct initialiser slope = {INITIALISE_CONSTANT, node->attributes.prelu.slope};
    if (!isfinite(slope.value))
        return error_set(error, ERROR_INPUT, node->name, "choose a finite \"slope\"",
                         "prelu: a slope of %g cannot be used", slope.value);
    return rule_same_shape(graph, node, inputs, error) &&
           graph_add_parameter(graph, node, "weight", &inputs[0].channels, 1, 1, slope, true,
                               error);
}

/* Returns the channel of value i of the batch. */
static size_t channel_of(const struct kernel_call *call, size_t i)
{
    const struct shape shape = call->site->inputs[0];
    return i / shape_area(shape) % shape.channels;
}

static void forward_prelu(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x > 0 ? x : call->parameters[0][channel_of(call, i)] * x;
    }
}

static float slope_sum(const struct kernel_call *call, size_t channel)
{
    double sum = 0;
    for (size_t i = 0; i < output_values(call); i++)
        if (channel_of(call, i) == channel && !(call->inputs[0][i] > 0))
            sum += (double)call->output_gradient[i] * call->inputs[0][i];
    return (float)sum;
}

static void backward_prelu(const struct kernel_call *call)
{
    for (size_t c = 0; call->parameter_gradients[0] && c < call->site->inputs[0].channels; c++)
        call->parameter_gradients[0][c] = slope_sum(call, c);
    for (size_t i = 0; call->input_gradients[0] && i < output_values(call); i++) {
        float slope = call->inputs[0][i] > 0 ? 1 : call->parameters[0][channel_of(call, i)];
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "prelu reference",
    .instruction_set = "any",
    .op = &op_prelu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_prelu,
    .backward = backward_prelu,
};

const struct op op_prelu = {
    .name = "prelu",
    .description = "x where positive, else x times a slope that each channel learns",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_prelu,
    .write = write_prelu,
    .infer = infer_prelu,
    .reference = &reference,
};
