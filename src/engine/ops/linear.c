/* A fully connected layer: output[n, o] = bias[o] + sum over i of weight[o, i] * input[n, i]. An
 * input image of any shape is read as one vector.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void read_linear(struct layer_reader *reader, union attributes *attributes)
{
    struct linear_attributes *linear = &attributes->linear;
    linear->outputs = layer_count(reader, "output", LAYER_REQUIRED, 1, 1 << 24);
    linear->bias = layer_flag(reader, "bias", true);
    linear->weight_init =
        layer_initialiser(reader, "init", (struct initialiser){INITIALISE_HE, 0.0f});
    linear->bias_init =
        layer_initialiser(reader, "bias_init", (struct initialiser){INITIALISE_CONSTANT, 0.0f});
    linear->int8_weights = rule_read_int8_weights(reader);
}

static bool write_linear(const union attributes *attributes, struct json *layer)
{
    const struct linear_attributes *linear = &attributes->linear;
    return json_add_count(layer, "output", linear->outputs) &&
           layer_write_weights(layer, linear->bias, &linear->weight_init, &linear->bias_init) &&
           layer_write_int8_weights(layer, linear->int8_weights);
}

static bool infer_linear(struct graph *graph, struct node *node, const struct shape *inputs,
                         struct error *error)
{
    const struct linear_attributes *linear = &node->attributes.linear;
    size_t dims[2] = {linear->outputs, shape_count(inputs[0])};
    return rule_set_output(node, (struct shape){linear->outputs, 1, 1}, error) &&
           rule_weight_and_bias(graph, node, dims, 2, linear->weight_init,
                                linear->bias ? &linear->bias_init : NULL, error) &&
           rule_weight_scale(graph, node, linear->int8_weights, linear->outputs, error);
}

static uint64_t flops_linear(const struct node *node, const struct shape *inputs)
{
    return (uint64_t)2 * node->output.channels * shape_count(inputs[0]);
}

static void forward_linear(const struct kernel_call *call)
{
    const size_t batch = call->site->batch, inputs = shape_count(call->site->inputs[0]);
    const size_t outputs = call->site->node->output.channels;
    const float *weight = call->parameters[0];
    for (size_t n = 0; n < batch; n++)
        for (size_t o = 0; o < outputs; o++) {
            double sum = call->site->node->attributes.linear.bias ? call->parameters[1][o] : 0;
            for (size_t i = 0; i < inputs; i++)
                sum += (double)weight[o * inputs + i] * call->inputs[0][n * inputs + i];
            call->output[n * outputs + o] = (float)sum;
        }
}

static void backward_input(const struct kernel_call *call, size_t inputs, size_t outputs)
{
    const float *weight = call->parameters[0];
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t i = 0; i < inputs; i++) {
            double sum = 0;
            for (size_t o = 0; o < outputs; o++)
                sum += (double)weight[o * inputs + i] * call->output_gradient[n * outputs + o];
            gradient_store(&call->input_gradients[0][n * inputs + i], call->accumulate[0],
                           (float)sum);
        }
}

static void backward_weight(const struct kernel_call *call, size_t inputs, size_t outputs)
{
    for (size_t o = 0; o < outputs; o++)
        for (size_t i = 0; i < inputs; i++) {
            double sum = 0;
            for (size_t n = 0; n < call->site->batch; n++)
                sum += (double)call->output_gradient[n * outputs + o] *
                       call->inputs[0][n * inputs + i];
            call->parameter_gradients[0][o * inputs + i] = (float)sum;
        }
}

static void backward_bias(const struct kernel_call *call, size_t outputs)
{
    for (size_t o = 0; o < outputs; o++) {
        double sum = 0;
        for (size_t n = 0; n < call->site->batch; n++)
            sum += call->output_gradient[n * outputs + o];
        call->parameter_gradients[1][o] = (float)sum;
    }
}

static void backward_linear(const struct kernel_call *call)
{
    const size_t inputs = shape_count(call->site->inputs[0]);
    const size_t outputs = call->site->node->output.channels;
    if (call->input_gradients[0])
        backward_input(call, inputs, outputs);
    if (call->parameter_gradients[0])
        backward_weight(call, inputs, outputs);
    if (call->site->node->attributes.linear.bias && call->parameter_gradients[1])
        backward_bias(call, outputs);
}

static const struct kernel reference = {
    .name = "linear reference",
    .instruction_set = "any",
    .op = &op_linear,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_linear,
    .backward = backward_linear,
};

const struct op op_linear = {
    .name = "linear",
    .description = "fully connected: every output sees every input",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_linear,
    .write = write_linear,
    .infer = infer_linear,
    .flops = flops_linear,
    .reference = &reference,
};
