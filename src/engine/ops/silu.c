/* SiLU, also called swish: y = x / (1 + exp(-x)) (Elfwing et al. 2017). With s = 1 / (1 + exp(-x))
 * the gradient is s (1 + x (1 - s)). */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void forward_silu(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x / (1.0f + expf(-x));
    }
}

static void backward_silu(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i], s = 1.0f / (1.0f + expf(-x));
        float slope = s * (1.0f + x * (1.0f - s));
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "silu reference",
    .instruction_set = "any",
    .op = &op_silu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_silu,
    .backward = backward_silu,
};

const struct op op_silu = {
    .name = "silu",
    .description = "x times its sigmoid",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
