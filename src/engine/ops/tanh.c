/* y = tanh(x), with gradient 1 - y^2. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void forward_tanh(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = tanhf(x);
    }
}

static void backward_tanh(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float y = call->output[i];
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * (1.0f - y * y));
    }
}

static const struct kernel reference = {
    .name = "tanh reference",
    .instruction_set = "any",
    .op = &op_tanh,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_tanh,
    .backward = backward_tanh,
};

const struct op op_tanh = {
    .name = "tanh",
    .description = "the hyperbolic tangent, between -1 and 1",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
