/* y = max(x, 0), except that NaN stays NaN, so that it is noticed. Where y is 0 the gradient is 0.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void forward_relu(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x < 0 ? 0 : x;
    }
}

static void backward_relu(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float y = call->output[i];
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       y > 0 ? call->output_gradient[i] : 0);
    }
}

static const struct kernel reference = {
    .name = "relu reference",
    .instruction_set = "any",
    .op = &op_relu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_relu,
    .backward = backward_relu,
};

const struct op op_relu = {
    .name = "relu",
    .description = "max(x, 0)",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
