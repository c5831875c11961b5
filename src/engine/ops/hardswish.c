/* y = x * min(max(x + 3, 0), 6) / 6, a smooth gate that needs no exponential (Howard et al. 2019).
 * The gradient is 0 for x <= -3, 1 for x >= 3, and (2 x + 3) / 6 between them. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void forward_hardswish(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
    }
}

static void backward_hardswish(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        float slope = x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "hardswish reference",
    .instruction_set = "any",
    .op = &op_hardswish,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_hardswish,
    .backward = backward_hardswish,
};

const struct op op_hardswish = {
    .name = "hardswish",
    .description = "x times a gate that rises from 0 at -3 to 1 at 3",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
