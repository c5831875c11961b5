/* Each channel of input 0 times one value of input 1, the gate of a squeeze-excitation block (Hu et
 * al. 2018):
 *
 *   output[n, c, y, x] = input0[n, c, y, x] * input1[n, c]
 *
 * The gradient of the gate is the sum of g * input0 over the positions of the channel.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static bool infer_channel_scale(struct graph *graph, struct node *node, const struct shape *inputs,
                                struct error *error)
{
    (void)graph;
    if (inputs[1].channels != inputs[0].channels || shape_area(inputs[1]) != 1)
        return error_set(
            error, ERROR_INPUT, node->name,
            "correct its \"from\": the values, then one factor for each channel",
            "channel_scale: %zu channels need %zu x 1 x 1 factors, not %zu x %zu x %zu",
            inputs[0].channels, inputs[0].channels, inputs[1].channels, inputs[1].height,
            inputs[1].width);
    node->output = inputs[0];
    return true;
}

static void forward_channel_scale(const struct kernel_call *call)
{
    const size_t area = shape_area(call->site->inputs[0]);
    for (size_t i = 0; i < output_values(call); i++)
        call->output[i] = call->inputs[0][i] * call->inputs[1][i / area];
}

/* Computes both gradients. If both inputs are one node, its gradient gets both terms. */
static void backward_channel_scale(const struct kernel_call *call)
{
    const size_t area = shape_area(call->site->inputs[0]);
    for (size_t plane = 0; plane < output_values(call) / area; plane++) {
        double sum = 0;
        for (size_t i = plane * area; i < (plane + 1) * area; i++)
            sum += (double)call->output_gradient[i] * call->inputs[0][i];
        for (size_t i = plane * area; call->input_gradients[0] && i < (plane + 1) * area; i++)
            gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                           call->output_gradient[i] * call->inputs[1][plane]);
        if (call->input_gradients[1])
            gradient_store(&call->input_gradients[1][plane], call->accumulate[1], (float)sum);
    }
}

static const struct kernel reference = {
    .name = "channel_scale reference",
    .instruction_set = "any",
    .op = &op_channel_scale,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_channel_scale,
    .backward = backward_channel_scale,
};

const struct op op_channel_scale = {
    .name = "channel_scale",
    .description = "each channel of the first input times one value of the second",
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_channel_scale,
    .reference = &reference,
};
