/* y = x for x > 0, else slope * x. The slope is not negative, so y has the sign of x, and the
 * backward pass needs only the output.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void read_leaky_relu(struct layer_reader *reader, union attributes *attributes)
{
    attributes->leaky_relu.slope = (float)layer_number(reader, "slope", 0.01, 0, 1);
}

static bool write_leaky_relu(const union attributes *attributes, struct json *layer)
{
    return json_add_float(layer, "slope", attributes->leaky_relu.slope);
}

static bool infer_leaky_relu(struct graph *graph, struct node *node, const struct shape *inputs,
                             struct error *error)
{
    float slope = node->attributes.leaky_relu.slope;
    if (!(slope >= 0 && slope <= 1))
        return error_set(error, ERROR_INPUT, node->name, "choose a \"slope\" of 0 to 1",
                         "leaky_relu: a slope of %g is outside 0 to 1", slope);
    return rule_same_shape(graph, node, inputs, error);
}

static void forward_leaky_relu(const struct kernel_call *call)
{
    const float slope = call->site->node->attributes.leaky_relu.slope;
    for (size_t i = 0; i < output_values(call); i++) {
        float x = call->inputs[0][i];
        call->output[i] = x > 0 ? x : slope * x;
    }
}

static void backward_leaky_relu(const struct kernel_call *call)
{
    const float slope = call->site->node->attributes.leaky_relu.slope;
    if (!call->input_gradients[0])
        return;
    for (size_t i = 0; i < output_values(call); i++) {
        float gradient = call->output_gradient[i];
        gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                       call->output[i] > 0 ? gradient : slope * gradient);
    }
}

static const struct kernel reference = {
    .name = "leaky_relu reference",
    .instruction_set = "any",
    .op = &op_leaky_relu,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_leaky_relu,
    .backward = backward_leaky_relu,
};

const struct op op_leaky_relu = {
    .name = "leaky_relu",
    .description = "x where positive, else slope * x",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_leaky_relu,
    .write = write_leaky_relu,
    .infer = infer_leaky_relu,
    .reference = &reference,
};
