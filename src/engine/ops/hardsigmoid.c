/* y = min(max(x + 3, 0), 6) / 6: the gate of hardswish alone (Howard et al. 2019). The gradient is
 * 1/6 where y is between 0 and 1, else 0; the backward pass needs only the output. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void forward_hardsigmoid(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
    }
}

static void backward_hardsigmoid(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float y = call->output[i];
        float slope = y <= 0 || y >= 1 ? 0 : 1.0f / 6;
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "hardsigmoid reference",
    .instruction_set = "any",
    .op = &op_hardsigmoid,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_hardsigmoid,
    .backward = backward_hardsigmoid,
};

const struct op op_hardsigmoid = {
    .name = "hardsigmoid",
    .description = "a straight line from 0 at -3 to 1 at 3",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
