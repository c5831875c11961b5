/* Convolution as neural networks define it (cross-correlation), in groups:
 *
 *   output[n, o, y, x] = bias[o] + sum over i, ky, kx of
 *       weight[o, i, ky, kx] *
 *       input[n, group(o) * I + i, y * stride + ky * dilation - pad, x * ...]
 *
 * where I = channels / groups and group(o) = o / (outputs / groups). Padding is 0. The gradients
 * run over the same pairs of output position and window element as this sum.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void read_conv(struct layer_reader *reader, union attributes *attributes)
{
    struct conv_attributes *conv = &attributes->conv;
    conv->outputs = layer_count(reader, "output", LAYER_REQUIRED, 1, 1 << 24);
    layer_window(reader, &conv->window, false);
    layer_dilation(reader, &conv->dilation_height, &conv->dilation_width);
    conv->groups = layer_count(reader, "groups", 1, 1, 1 << 24);
    conv->bias = layer_flag(reader, "bias", true);
    conv->weight_init =
        layer_initialiser(reader, "init", (struct initialiser){INITIALISE_HE, 0.0f});
    conv->bias_init =
        layer_initialiser(reader, "bias_init", (struct initialiser){INITIALISE_CONSTANT, 0.0f});
    conv->int8_weights = rule_read_int8_weights(reader);
}

static bool write_conv(const union attributes *attributes, struct json *layer)
{
    const struct conv_attributes *conv = &attributes->conv;
    return json_add_count(layer, "output", conv->outputs) &&
           layer_write_window(layer, &conv->window) &&
           layer_write_dilation(layer, conv->dilation_height, conv->dilation_width) &&
           json_add_count(layer, "groups", conv->groups) &&
           layer_write_weights(layer, conv->bias, &conv->weight_init, &conv->bias_init) &&
           layer_write_int8_weights(layer, conv->int8_weights);
}

/* Returns the dilation along an axis; if the kernel has one element there, any dilation computes
 * the same as 1. */
static size_t dilation_of(size_t kernel, size_t dilation)
{
    return kernel > 1 && dilation > 1 ? dilation : 1;
}

static bool slide_dilated(struct node *node, struct shape input, struct error *error)
{
    const struct conv_attributes *conv = &node->attributes.conv;
    struct window window = conv->window;
    if (window.kernel_height > SIZE_MAX / conv->dilation_height ||
        window.kernel_width > SIZE_MAX / conv->dilation_width)
        return error_set(error, ERROR_INPUT, node->name, "choose a smaller \"dilation\"",
                         "conv: a dilation of %zu x %zu is too large", conv->dilation_height,
                         conv->dilation_width);
    window.kernel_height = dilated_size(window.kernel_height, conv->dilation_height);
    window.kernel_width = dilated_size(window.kernel_width, conv->dilation_width);
    return rule_slide_window(node, &window, false, input, conv->outputs, error);
}

static bool infer_conv(struct graph *graph, struct node *node, const struct shape *inputs,
                       struct error *error)
{
    struct conv_attributes *conv = &node->attributes.conv;
    const struct window *window = &conv->window;
    if (!conv->groups || inputs[0].channels % conv->groups || conv->outputs % conv->groups)
        return error_set(error, ERROR_INPUT, node->name,
                         "choose \"groups\" that divides both channel counts",
                         "conv: %zu groups do not divide %zu input and %zu output channels",
                         conv->groups, inputs[0].channels, conv->outputs);
    size_t dims[4] = {conv->outputs, inputs[0].channels / conv->groups, window->kernel_height,
                      window->kernel_width};
    conv->dilation_height = dilation_of(window->kernel_height, conv->dilation_height);
    conv->dilation_width = dilation_of(window->kernel_width, conv->dilation_width);
    return slide_dilated(node, inputs[0], error) &&
           rule_weight_and_bias(graph, node, dims, 4, conv->weight_init,
                                conv->bias ? &conv->bias_init : NULL, error) &&
           rule_weight_scale(graph, node, conv->int8_weights, conv->outputs, error);
}

static uint64_t flops_conv(const struct node *node, const struct shape *inputs)
{
    const struct conv_attributes *conv = &node->attributes.conv;
    return (uint64_t)2 * shape_count(node->output) * (inputs[0].channels / conv->groups) *
           conv->window.kernel_height * conv->window.kernel_width;
}

/* The sizes of one convolution, named as in the formula. */
struct sizes {
    struct shape in, out;
    struct window w;
    size_t dilation_height, dilation_width;
    size_t batch, group_inputs, group_outputs;
};

static struct sizes sizes_of(const struct kernel_call *call)
{
    const struct conv_attributes *conv = &call->site->node->attributes.conv;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    return (struct sizes){
        .in = in,
        .out = out,
        .w = conv->window,
        .dilation_height = dilation_of(conv->window.kernel_height, conv->dilation_height),
        .dilation_width = dilation_of(conv->window.kernel_width, conv->dilation_width),
        .batch = call->site->batch,
        .group_inputs = in.channels / conv->groups,
        .group_outputs = out.channels / conv->groups,
    };
}

/* The next three return the index of an element. `i` counts the input channels of the group that
 * output channel `o` belongs to. */
/* Returns the first input channel of an output's group. It is kept outside the innermost loops:
 * dividing takes as long as the rest of them. */
static size_t first_input(const struct sizes *s, size_t o)
{
    return o / s->group_outputs * s->group_inputs;
}

static size_t input_at(const struct sizes *s, size_t n, size_t channel, size_t y, size_t x)
{
    return ((n * s->in.channels + channel) * s->in.height + y) * s->in.width + x;
}

static size_t output_at(const struct sizes *s, size_t n, size_t o, size_t y, size_t x)
{
    return ((n * s->out.channels + o) * s->out.height + y) * s->out.width + x;
}

static size_t weight_at(const struct sizes *s, size_t o, size_t i, size_t ky, size_t kx)
{
    return ((o * s->group_inputs + i) * s->w.kernel_height + ky) * s->w.kernel_width + kx;
}

/* Sets the input's row and column under window element (ky, kx) of output position (y, x). Returns
 * false if that is padding. */
static bool tap(const struct sizes *s, size_t y, size_t x, size_t ky, size_t kx, size_t *iy,
                size_t *ix)
{
    return window_tap(y, ky * s->dilation_height, s->w.stride_height, s->w.pad_height, s->in.height,
                      iy) &&
           window_tap(x, kx * s->dilation_width, s->w.stride_width, s->w.pad_width, s->in.width,
                      ix);
}

static float window_sum(const struct kernel_call *call, const struct sizes *s, size_t n, size_t o,
                        size_t y, size_t x)
{
    const float *input = call->inputs[0], *weight = call->parameters[0];
    double sum = call->site->node->attributes.conv.bias ? call->parameters[1][o] : 0;
    const size_t first = first_input(s, o);
    size_t iy, ix;
    for (size_t i = 0; i < s->group_inputs; i++)
        for (size_t ky = 0; ky < s->w.kernel_height; ky++)
            for (size_t kx = 0; kx < s->w.kernel_width; kx++)
                if (tap(s, y, x, ky, kx, &iy, &ix))
                    sum += (double)weight[weight_at(s, o, i, ky, kx)] *
                           input[input_at(s, n, first + i, iy, ix)];
    return (float)sum;
}

static void forward_conv(const struct kernel_call *call)
{
    const struct sizes s = sizes_of(call);
    for (size_t n = 0; n < s.batch; n++)
        for (size_t o = 0; o < s.out.channels; o++)
            for (size_t y = 0; y < s.out.height; y++)
                for (size_t x = 0; x < s.out.width; x++)
                    call->output[output_at(&s, n, o, y, x)] = window_sum(call, &s, n, o, y, x);
}

/* Adds weight * output_gradient to input_gradient[tap], over every pair of the forward sum. */
static void backward_input(const struct kernel_call *call, const struct sizes *s)
{
    const float *weight = call->parameters[0];
    float *gradient = call->input_gradients[0];
    size_t iy, ix;
    gradient_begin(gradient, call->accumulate[0], input_values(call));
    for (size_t n = 0; n < s->batch; n++)
        for (size_t o = 0; o < s->out.channels; o++) {
            const size_t first = first_input(s, o);
            for (size_t y = 0; y < s->out.height; y++)
                for (size_t x = 0; x < s->out.width; x++)
                    for (size_t i = 0; i < s->group_inputs; i++)
                        for (size_t ky = 0; ky < s->w.kernel_height; ky++)
                            for (size_t kx = 0; kx < s->w.kernel_width; kx++)
                                if (tap(s, y, x, ky, kx, &iy, &ix))
                                    gradient[input_at(s, n, first + i, iy, ix)] +=
                                        weight[weight_at(s, o, i, ky, kx)] *
                                        call->output_gradient[output_at(s, n, o, y, x)];
        }
}

static float weight_sum(const struct kernel_call *call, const struct sizes *s, size_t o, size_t i,
                        size_t ky, size_t kx)
{
    const size_t channel = first_input(s, o) + i;
    double sum = 0;
    size_t iy, ix;
    for (size_t n = 0; n < s->batch; n++)
        for (size_t y = 0; y < s->out.height; y++)
            for (size_t x = 0; x < s->out.width; x++)
                if (tap(s, y, x, ky, kx, &iy, &ix))
                    sum += (double)call->output_gradient[output_at(s, n, o, y, x)] *
                           call->inputs[0][input_at(s, n, channel, iy, ix)];
    return (float)sum;
}

static void backward_weight(const struct kernel_call *call, const struct sizes *s)
{
    for (size_t o = 0; o < s->out.channels; o++)
        for (size_t i = 0; i < s->group_inputs; i++)
            for (size_t ky = 0; ky < s->w.kernel_height; ky++)
                for (size_t kx = 0; kx < s->w.kernel_width; kx++)
                    call->parameter_gradients[0][weight_at(s, o, i, ky, kx)] =
                        weight_sum(call, s, o, i, ky, kx);
}

static void backward_bias(const struct kernel_call *call, const struct sizes *s)
{
    for (size_t o = 0; o < s->out.channels; o++) {
        double sum = 0;
        for (size_t n = 0; n < s->batch; n++)
            for (size_t y = 0; y < s->out.height; y++)
                for (size_t x = 0; x < s->out.width; x++)
                    sum += call->output_gradient[output_at(s, n, o, y, x)];
        call->parameter_gradients[1][o] = (float)sum;
    }
}

static void backward_conv(const struct kernel_call *call)
{
    const struct sizes s = sizes_of(call);
    if (call->input_gradients[0])
        backward_input(call, &s);
    if (call->parameter_gradients[0])
        backward_weight(call, &s);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        backward_bias(call, &s);
}

static const struct kernel reference = {
    .name = "conv reference",
    .instruction_set = "any",
    .op = &op_conv,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .forward = forward_conv,
    .backward = backward_conv,
};

const struct op op_conv = {
    .name = "conv",
    .description = "convolution with any kernel, stride, padding, dilation and groups",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = read_conv,
    .write = write_conv,
    .infer = infer_conv,
    .flops = flops_conv,
    .reference = &reference,
};
