/* Transposed convolution, in groups: every input value adds a window of values to the output,
 *
 *   output[n, o, y * stride + ky - pad, x * ...] +=
 *       weight[i, o within its group, ky, kx] * input[n, i, y, x]
 *
 * for all o of the group of i; the output begins as the bias. Values that fall into the padding are
 * dropped. This is the input's gradient of a convolution with the same window that leads from the
 * output's shape to the input's, and the gradient of this operator is that convolution. Names,
 * shapes and weight layout are those of PyTorch's ConvTranspose2d without output padding; the
 * output has (size - 1) * stride - 2 * pad + kernel rows or columns.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void read_conv_transpose(struct layer_reader *reader, union attributes *attributes)
{
    const struct conv_attributes *conv = &attributes->conv;
    op_conv.read(reader, attributes);
    if (conv_is_dilated(conv))
        layer_fail(reader, "dilation", "is a key of \"conv\" only");
}

static bool write_conv_transpose(const union attributes *attributes, struct json *layer)
{
    return op_conv.write(attributes, layer);
}

/* Returns the output's size along one axis, or 0 if padding leaves nothing or the size is too large
 * for size_t. */
static size_t output_size(size_t size, size_t kernel, size_t stride, size_t pad)
{
    const size_t limit = (size_t)1 << 32;
    if (!kernel || !stride || kernel > limit || stride > limit / size || pad > limit)
        return 0;
    size_t whole = (size - 1) * stride + kernel;
    return whole > 2 * pad ? whole - 2 * pad : 0;
}

static bool set_output(struct node *node, struct shape input, struct error *error)
{
    const struct window *w = &node->attributes.conv.window;
    struct shape output = {
        node->attributes.conv.outputs,
        output_size(input.height, w->kernel_height, w->stride_height, w->pad_height),
        output_size(input.width, w->kernel_width, w->stride_width, w->pad_width),
    };
    if (!output.height || !output.width)
        return error_set(error, ERROR_INPUT, node->name,
                         "choose less \"pad\", and \"kernel\" and \"stride\" of 1 or more",
                         "conv_transpose: nothing is left of an input of %zu x %zu under a window "
                         "of %zu x %zu with padding %zu x %zu",
                         input.height, input.width, w->kernel_height, w->kernel_width,
                         w->pad_height, w->pad_width);
    return rule_set_output(node, output, error);
}

/* Returns how many terms an output value has on average: the fan-in for initialisation. */
static size_t mean_terms(const struct conv_attributes *conv, size_t channels)
{
    const struct window *w = &conv->window;
    size_t terms = channels / conv->groups * w->kernel_height * w->kernel_width /
                   (w->stride_height * w->stride_width);
    return terms ? terms : 1;
}

static bool infer_conv_transpose(struct graph *graph, struct node *node, const struct shape *inputs,
                                 struct error *error)
{
    node->attributes.conv.dilation_height = node->attributes.conv.dilation_width = 1;
    const struct conv_attributes *conv = &node->attributes.conv;
    const struct window *w = &conv->window;
    const size_t channels = inputs[0].channels;
    if (!conv->groups || channels % conv->groups || conv->outputs % conv->groups)
        return error_set(error, ERROR_INPUT, node->name,
                         "choose \"groups\" that divides both channel counts",
                         "conv_transpose: %zu groups do not divide %zu input and %zu output "
                         "channels",
                         conv->groups, channels, conv->outputs);
    if (!set_output(node, inputs[0], error))
        return false;
    const size_t dims[4] = {channels, conv->outputs / conv->groups, w->kernel_height,
                            w->kernel_width};
    const size_t terms = mean_terms(conv, channels);
    return graph_add_parameter(graph, node, "weight", dims, 4, terms, conv->weight_init, true,
                               error) &&
           (!conv->bias || graph_add_parameter(graph, node, "bias", &conv->outputs, 1, terms,
                                               conv->bias_init, true, error));
}

static uint64_t flops_conv_transpose(const struct node *node, const struct shape *inputs)
{
    const struct conv_attributes *conv = &node->attributes.conv;
    return (uint64_t)2 * shape_count(inputs[0]) * (conv->outputs / conv->groups) *
           conv->window.kernel_height * conv->window.kernel_width;
}

/* --- reference --- */

/* A pair of an input and an output value that a weight connects: their indices. */
struct pair {
    size_t input, output, weight, output_channel;
};

typedef void visit_pair(const struct kernel_call *call, const struct pair *pair, double *sum);

/* Calls `visit` for each pair of one weight element, over all images and positions. */
static void visit_positions(const struct kernel_call *call, size_t i, size_t o, size_t ky,
                            size_t kx, visit_pair *visit, double *sum)
{
    const struct conv_attributes *conv = &call->site->node->attributes.conv;
    const struct window *w = &conv->window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    const size_t group = i / (in.channels / conv->groups), outputs = out.channels / conv->groups;
    struct pair pair = {.weight =
                            ((i * outputs + o) * w->kernel_height + ky) * w->kernel_width + kx,
                        .output_channel = group * outputs + o};
    size_t oy, ox;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t y = 0; y < in.height; y++)
            for (size_t x = 0; x < in.width; x++) {
                if (!window_tap(y, ky, w->stride_height, w->pad_height, out.height, &oy) ||
                    !window_tap(x, kx, w->stride_width, w->pad_width, out.width, &ox))
                    continue;
                pair.input = ((n * in.channels + i) * in.height + y) * in.width + x;
                pair.output =
                    ((n * out.channels + pair.output_channel) * out.height + oy) * out.width + ox;
                visit(call, &pair, sum);
            }
}

/* Visits the pairs of all weight elements in order. After each element `finish`, unless it is NULL,
 * gets the sum that `visit` accumulated. */
static void visit_all(const struct kernel_call *call, visit_pair *visit,
                      void (*finish)(const struct kernel_call *call, size_t weight, double sum))
{
    const struct conv_attributes *conv = &call->site->node->attributes.conv;
    size_t weight = 0;
    for (size_t i = 0; i < call->site->inputs[0].channels; i++)
        for (size_t o = 0; o < conv->outputs / conv->groups; o++)
            for (size_t ky = 0; ky < conv->window.kernel_height; ky++)
                for (size_t kx = 0; kx < conv->window.kernel_width; kx++) {
                    double sum = 0;
                    visit_positions(call, i, o, ky, kx, visit, &sum);
                    if (finish)
                        finish(call, weight, sum);
                    weight++;
                }
}

static void add_output(const struct kernel_call *call, const struct pair *pair, double *sum)
{
    (void)sum;
    call->output[pair->output] += call->parameters[0][pair->weight] * call->inputs[0][pair->input];
}

static void add_input_gradient(const struct kernel_call *call, const struct pair *pair, double *sum)
{
    (void)sum;
    call->input_gradients[0][pair->input] +=
        call->parameters[0][pair->weight] * call->output_gradient[pair->output];
}

static void add_weight_gradient(const struct kernel_call *call, const struct pair *pair,
                                double *sum)
{
    *sum += (double)call->inputs[0][pair->input] * call->output_gradient[pair->output];
}

static void store_weight_gradient(const struct kernel_call *call, size_t weight, double sum)
{
    call->parameter_gradients[0][weight] = (float)sum;
}

static void forward_conv_transpose(const struct kernel_call *call)
{
    const struct shape out = call->site->node->output;
    const float *bias = call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
    for (size_t at = 0; at < output_values(call); at++)
        call->output[at] = bias ? bias[at / shape_area(out) % out.channels] : 0;
    visit_all(call, add_output, NULL);
}

static void backward_bias(const struct kernel_call *call)
{
    const struct shape out = call->site->node->output;
    for (size_t o = 0; o < out.channels; o++) {
        double sum = 0;
        for (size_t n = 0; n < call->site->batch; n++)
            for (size_t p = 0; p < shape_area(out); p++)
                sum += call->output_gradient[(n * out.channels + o) * shape_area(out) + p];
        call->parameter_gradients[1][o] = (float)sum;
    }
}

static void backward_conv_transpose(const struct kernel_call *call)
{
    if (call->input_gradients[0]) {
        gradient_begin(call->input_gradients[0], call->accumulate[0], input_values(call));
        visit_all(call, add_input_gradient, NULL);
    }
    if (call->parameter_gradients[0])
        visit_all(call, add_weight_gradient, store_weight_gradient);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        backward_bias(call);
}

static const struct kernel reference = {
    .name = "conv_transpose reference",
    .instruction_set = "any",
    .op = &op_conv_transpose,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_conv_transpose,
    .backward = backward_conv_transpose,
};

const struct op op_conv_transpose = {
    .name = "conv_transpose",
    .description = "transposed convolution: every value spreads over a window of the output",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_conv_transpose,
    .write = write_conv_transpose,
    .infer = infer_conv_transpose,
    .flops = flops_conv_transpose,
    .reference = &reference,
};
