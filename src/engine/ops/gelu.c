/* GELU (Hendrycks & Gimpel 2016) as it is defined, not approximated by tanh: y = x P(x) with the
 * normal distribution P(x) = (1 + erf(x / sqrt 2)) / 2. The gradient is P(x) + x p(x), where
 * p(x) = exp(-x^2 / 2) / sqrt(2 pi) is its density. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

/* Returns the share of a normal distribution that lies below x. */
static float below(float x)
{
    return 0.5f * (1.0f + erff(x * 0.7071067812f));
}

static void forward_gelu(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x * below(x);
    }
}

static void backward_gelu(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        float slope = below(x) + x * 0.3989422804f * expf(-0.5f * x * x);
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "gelu reference",
    .instruction_set = "any",
    .op = &op_gelu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_gelu,
    .backward = backward_gelu,
};

const struct op op_gelu = {
    .name = "gelu",
    .description = "x times the share of a normal distribution below x",
    .min_inputs = 1,
    .max_inputs = 1,
    .infer = rule_same_shape,
    .reference = &reference,
};
