/* The sum of two or more inputs of one shape. The gradient of each input is the output's gradient.
 *
 * Both passes read an element of every array before they write it. The output may therefore share
 * the memory of input 0, and the gradient of input 0 that of the output's gradient.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static bool infer_add(struct graph *graph, struct node *node, const struct shape *inputs,
                      struct error *error)
{
    for (size_t k = 1; k < node->input_count; k++)
        if (!rule_equal_inputs(node, (struct shape[]){inputs[0], inputs[k]}, error))
            return false;
    return rule_same_shape(graph, node, inputs, error);
}

static void forward_add(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float sum = call->inputs[0][i];
        for (size_t k = 1; k < call->site->node->input_count; k++)
            sum += call->inputs[k][i];
        call->output[i] = sum;
    }
}

static void backward_add(const struct kernel_call *call)
{
    for (size_t i = 0; i < output_values(call); i++) {
        float gradient = call->output_gradient[i];
        for (size_t k = 0; k < call->site->node->input_count; k++)
            if (call->input_gradients[k])
                gradient_store(&call->input_gradients[k][i], call->accumulate[k], gradient);
    }
}

static const struct kernel reference = {
    .name = "add reference",
    .instruction_set = "any",
    .op = &op_add,
    .traits = KERNEL_IN_PLACE | KERNEL_GRADIENT_IN_PLACE,
    .forward = forward_add,
    .backward = backward_add,
};

const struct op op_add = {
    .name = "add",
    .description = "the sum of several layers of one shape",
    .min_inputs = 2,
    .max_inputs = NODE_MAX_INPUTS,
    .infer = infer_add,
    .reference = &reference,
};
