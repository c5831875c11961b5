/* Concatenation: the channels of all inputs, one input after the other. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static bool infer_concat(struct graph *graph, struct node *node, const struct shape *inputs,
                         struct error *error)
{
    (void)graph;
    struct shape output = {0, inputs[0].height, inputs[0].width};
    for (size_t k = 0; k < node->input_count; k++) {
        if (inputs[k].height != output.height || inputs[k].width != output.width)
            return error_set(error, ERROR_INPUT, node->name,
                             "correct its \"from\" or the layers before it",
                             "concat: input %zu is %zu x %zu, but input 1 is %zu x %zu", k + 1,
                             inputs[k].height, inputs[k].width, output.height, output.width);
        output.channels += inputs[k].channels;
    }
    return rule_set_output(node, output, error);
}

static void forward_concat(const struct kernel_call *call)
{
    const size_t output_count = shape_count(call->site->node->output);
    size_t offset = 0; /* where input k begins in an output image */
    for (size_t k = 0; k < call->site->node->input_count; k++) {
        const size_t count = shape_count(call->site->inputs[k]);
        for (size_t n = 0; n < call->site->batch; n++)
            for (size_t i = 0; i < count; i++)
                call->output[n * output_count + offset + i] = call->inputs[k][n * count + i];
        offset += count;
    }
}

static void backward_concat(const struct kernel_call *call)
{
    const size_t output_count = shape_count(call->site->node->output);
    size_t offset = 0;
    for (size_t k = 0; k < call->site->node->input_count; k++) {
        const size_t count = shape_count(call->site->inputs[k]);
        for (size_t n = 0; call->input_gradients[k] && n < call->site->batch; n++)
            for (size_t i = 0; i < count; i++)
                gradient_store(&call->input_gradients[k][n * count + i], call->accumulate[k],
                               call->output_gradient[n * output_count + offset + i]);
        offset += count;
    }
}

static const struct kernel reference = {
    .name = "concat reference",
    .instruction_set = "any",
    .op = &op_concat,
    .forward = forward_concat,
    .backward = backward_concat,
};

const struct op op_concat = {
    .name = "concat",
    .description = "the channels of several layers, one after the other",
    .min_inputs = 2,
    .max_inputs = NODE_MAX_INPUTS,
    .infer = infer_concat,
    .reference = &reference,
};
