/* y = 1 / (1 + exp(-x)), with gradient y (1 - y). */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void forward_sigmoid(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = 1.0f / (1.0f + expf(-x));
    }
}

static void backward_sigmoid(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float y = call->output[i];
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * y * (1.0f - y));
    }
}

static const struct kernel reference = {
    .name = "sigmoid reference",
    .instruction_set = "any",
    .op = &op_sigmoid,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_sigmoid,
    .backward = backward_sigmoid,
};

const struct op op_sigmoid = {
    .name = "sigmoid",
    .description = "1 / (1 + exp(-x)), between 0 and 1",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
