/* The mean over each image of |input 0 - input 1|. Where they are equal the gradient is 0. */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

static bool infer_l1_loss(struct graph *graph, struct node *node, const struct shape *inputs,
                          struct error *error)
{
    (void)graph;
    return rule_equal_inputs(node, inputs, error) && rule_loss(node, error);
}

static void forward_l1_loss(const struct kernel_call *call)
{
    const size_t count = shape_count(call->site->inputs[0]);
    for (size_t n = 0; n < call->site->batch; n++) {
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            double difference =
                (double)call->inputs[0][n * count + i] - call->inputs[1][n * count + i];
            sum += fabs(difference);
        }
        call->output[n] = (float)(sum / (double)count);
    }
}

static void backward_l1_loss(const struct kernel_call *call)
{
    const float scale = loss_scale(call) / (float)shape_count(call->site->inputs[0]);
    for (size_t i = 0; i < input_values(call); i++) {
        float difference = call->inputs[0][i] - call->inputs[1][i];
        float gradient = scale * (float)((difference > 0) - (difference < 0));
        if (call->input_gradients[0])
            gradient_store(&call->input_gradients[0][i], call->accumulate[0], gradient);
        if (call->input_gradients[1])
            gradient_store(&call->input_gradients[1][i], call->accumulate[1], -gradient);
    }
}

static const struct kernel reference = {
    .name = "l1_loss reference",
    .instruction_set = "any",
    .op = &op_l1_loss,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_l1_loss,
    .backward = backward_l1_loss,
};

const struct op op_l1_loss = {
    .name = "l1_loss",
    .description = "loss: mean absolute difference of two layers",
    .min_inputs = 2,
    .max_inputs = 2,
    .traits = OP_LOSS,
    .read = rule_read_loss,
    .write = rule_write_loss,
    .infer = infer_l1_loss,
    .reference = &reference,
};
