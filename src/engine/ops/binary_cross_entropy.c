/* Binary cross-entropy from logits x against targets t of 0 to 1, the mean over each image:
 *
 *   -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) = max(x, 0) - x t + log1p(exp(-|x|))
 *
 * The right side never overflows. The gradient is sigmoid(x) - t for x and -x for t. The targets
 * are a second input, or one constant for all values.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static void read_binary_cross_entropy(struct layer_reader *reader, union attributes *attributes)
{
    rule_read_loss(reader, attributes);
    attributes->loss.has_target = layer_has(reader, "target");
    if (attributes->loss.has_target)
        attributes->loss.target = (float)layer_number(reader, "target", 0, 0, 1);
}

static bool write_binary_cross_entropy(const union attributes *attributes, struct json *layer)
{
    const struct loss_attributes *loss = &attributes->loss;
    return rule_write_loss(attributes, layer) &&
           (!loss->has_target || json_add_float(layer, "target", loss->target));
}

static bool infer_binary_cross_entropy(struct graph *graph, struct node *node,
                                       const struct shape *inputs, struct error *error)
{
    (void)graph;
    const struct loss_attributes *loss = &node->attributes.loss;
    if (loss->has_target != (node->input_count == 1))
        return error_set(error, ERROR_INPUT, node->name,
                         "give either a second input or a \"target\"",
                         "binary_cross_entropy: it has %s", loss->has_target ? "both" : "neither");
    if (loss->has_target && !(loss->target >= 0 && loss->target <= 1))
        return error_set(error, ERROR_INPUT, node->name, "choose a \"target\" of 0 to 1",
                         "binary_cross_entropy: a target of %g is not a probability", loss->target);
    return (loss->has_target || rule_equal_inputs(node, inputs, error)) && rule_loss(node, error);
}

static float target_at(const struct kernel_call *call, size_t at)
{
    const struct loss_attributes *loss = &call->site->node->attributes.loss;
    return loss->has_target ? loss->target : call->inputs[1][at];
}

static void forward_binary_cross_entropy(const struct kernel_call *call)
{
    const size_t count = shape_count(call->site->inputs[0]);
    for (size_t n = 0; n < call->site->batch; n++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            float x = call->inputs[0][n * count + i], t = target_at(call, n * count + i);
            sum += fmaxf(x, 0) - x * t + log1pf(expf(-fabsf(x)));
        }
        call->output[n] = (float)(sum / (double)count);
    }
}

static void backward_binary_cross_entropy(const struct kernel_call *call)
{
    const float scale = loss_scale(call) / (float)shape_count(call->site->inputs[0]);
    for (size_t i = 0; i < input_values(call); i++) {
        float x = call->inputs[0][i], sigmoid = 1.0f / (1.0f + expf(-x));
        if (call->input_gradients[0])
            gradient_store(&call->input_gradients[0][i], call->accumulate[0],
                           scale * (sigmoid - target_at(call, i)));
        if (call->site->node->input_count > 1 && call->input_gradients[1])
            gradient_store(&call->input_gradients[1][i], call->accumulate[1], scale * -x);
    }
}

static const struct kernel reference = {
    .name = "binary_cross_entropy reference",
    .instruction_set = "any",
    .op = &op_binary_cross_entropy,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_binary_cross_entropy,
    .backward = backward_binary_cross_entropy,
};

const struct op op_binary_cross_entropy = {
    .name = "binary_cross_entropy",
    .description = "loss: cross-entropy of yes-or-no answers, from logits",
    .min_inputs = 1,
    .max_inputs = 2,
    .traits = OP_LOSS,
    .read = read_binary_cross_entropy,
    .write = write_binary_cross_entropy,
    .infer = infer_binary_cross_entropy,
    .reference = &reference,
};
