/* ELU (Clevert et al. 2015): y = x for x > 0, else alpha (exp(x) - 1). There the gradient is
 * alpha exp(x) = y + alpha; since alpha is not negative, y has the sign of x, and the backward pass
 * needs only the output.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_elu(struct layer_reader *reader, union attributes *attributes)
{
    attributes->elu.alpha = (float)layer_number(reader, "alpha", 1, 0, 1000);
}

static bool write_elu(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "alpha", attributes->elu.alpha);
}

static bool infer_elu(struct graph *graph, struct node *node, const struct shape *inputs,
                      struct error *error)
{
    float alpha = node->attributes.elu.alpha;
    if (!(alpha >= 0 && alpha <= 1000))
        return error_set(error, ERROR_INPUT, node->name, "choose an \"alpha\" of 0 to 1000",
                         "elu: an alpha of %g cannot be used", alpha);
    return rule_same_shape(graph, node, inputs, error);
}

static void forward_elu(const struct kernel_call *call)
{
    const float alpha = call->site->node->attributes.elu.alpha;
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x > 0 ? x : alpha * expm1f(x);
    }
}

static void backward_elu(const struct kernel_call *call)
{
    const float alpha = call->site->node->attributes.elu.alpha;
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float y = call->output[i], slope = y > 0 ? 1 : y + alpha;
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output_gradient[i] * slope);
    }
}

static const struct kernel reference = {
    .name = "elu reference",
    .instruction_set = "any",
    .op = &op_elu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_elu,
    .backward = backward_elu,
};

const struct op op_elu = {
    .name = "elu",
    .description = "x where positive, else alpha * (exp(x) - 1)",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_elu,
    .write = write_elu,
    .infer = infer_elu,
    .reference = &reference,
};
