/* The rules of precision int8 that do not depend on a device, and its plain-C kernels. */
#include "engine/ops/int8.h"

#include "base/language.h"
#include "engine/ops/op.h"
#include "engine/ops/reference.h"

#include <math.h>
#include <string.h>

/* --- which nodes --- */

bool int8_keeps_values(const struct op *op)
{
    return op == &op_relu || op == &op_max_pool || op == &op_channel_shift ||
           op == &op_channel_shuffle || op == &op_flatten || op == &op_concat;
}

bool int8_is_simulated(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op == &op_fake_quantize)
            return true;
    return false;
}

static bool has_weights(const struct node *node)
{
    return node->op == &op_conv || node->op == &op_linear;
}

static bool has_int8_weights(const struct node *node)
{
    return node->op == &op_conv ? node->attributes.conv.int8_weights
                                : node->attributes.linear.int8_weights;
}

/* Returns the products of one sum. */
static size_t products_of(const struct node *node, struct shape input)
{
    const struct window *w = &node->attributes.conv.window;
    return node->op == &op_conv
               ? input.channels / node->attributes.conv.groups * w->kernel_height * w->kernel_width
               : shape_count(input);
}

/* Returns how many values an average pooling sums at most. */
static size_t window_values(const struct node *node)
{
    const struct window *w = &node->attributes.pool.window;
    return w->kernel_height * w->kernel_width;
}

static bool refuse(const char *why, const char **reason)
{
    *reason = why;
    return false;
}

bool int8_computes(const struct kernel_site *site, bool integers, const char **reason)
{
    const struct node *node = site->node;
    const bool keeps = int8_keeps_values(node->op);
    if (!keeps && !has_weights(node) && node->op != &op_add && node->op != &op_average_pool)
        return refuse(N_("the operator has no kernel of int8"), reason);
    if (has_weights(node) && !has_int8_weights(node))
        return refuse(N_("its weights are not quantized"), reason);
    for (size_t k = 0; k < node->input_count; k++)
        if (!quantization_is_set(site->quantizations[k]))
            return refuse(N_("what it reads is not quantized"), reason);
    if (has_weights(node))
        return products_of(node, site->inputs[0]) <= INT8_MAX_PRODUCTS ||
               refuse(N_("a sum of its products may not fit into 32 bits"), reason);
    if (node->op == &op_average_pool) /* its sums become float32 if its output is not quantized */
        return window_values(node) <= INT8_MAX_PRODUCTS ||
               refuse(N_("a sum of its values may not fit into 32 bits"), reason);
    if (!integers && node->op != &op_flatten)
        return refuse(N_("what it writes is not quantized"), reason);
    for (size_t k = 0; keeps && integers && k < node->input_count; k++)
        if (!quantization_equal(site->quantizations[k], site->output_quantization))
            return refuse(N_("its inputs and its output have different scales"), reason);
    return true;
}

/* --- layers with weights --- */

struct int8_layer int8_layer_of(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    const struct node *node = site->node;
    const bool bias =
        node->op == &op_conv ? node->attributes.conv.bias : node->attributes.linear.bias;
    return (struct int8_layer){.outputs = node->output.channels,
                               .products = products_of(node, site->inputs[0]),
                               .weights = call->parameters[0],
                               .weight_scales = call->parameters[node->parameter_count - 1],
                               .bias = bias ? call->parameters[1] : NULL,
                               .input = site->quantizations[0],
                               .integers = site->output_layout.u8,
                               .output = site->output_quantization};
}

/* Returns the scale of a channel, which may have any value if its weights are all 0. */
static float weight_scale(const struct int8_layer *layer, size_t output)
{
    const float scale = layer->weight_scales[output];
    return scale > 0 ? scale : 1;
}

void int8_layer_weights(const struct int8_layer *layer, size_t output, int8_t *weights)
{
    const float *from = layer->weights + output * layer->products;
    const float scale = weight_scale(layer, output);
    for (size_t i = 0; i < layer->products; i++)
        weights[i] = quantization_round_weight(scale, from[i]);
}

struct int8_output int8_layer_output(const struct int8_layer *layer, size_t output,
                                     const int8_t *weights)
{
    const double unit = (double)layer->input.scale * weight_scale(layer, output);
    const double most = int8_most_bias(layer->products);
    const double bias = layer->bias ? rint(layer->bias[output] / unit) : 0;
    struct int8_output result = {.bias = (int32_t)fmin(fmax(bias, -most), most),
                                 .scale = (float)unit};
    int32_t sum = 0;
    for (size_t i = 0; i < layer->products; i++)
        sum += weights[i];
    result.zero_sum = sum * layer->input.zero_point;
    if (layer->integers)
        result.requantizer = requantizer_make(unit / layer->output.scale);
    return result;
}

/* --- conversions --- */

void int8_quantize(struct quantization quantization, struct tensor_layout layout,
                   struct shape shape, size_t batch, const float *from, uint8_t *to)
{
    for (size_t n = 0; n < batch; n++)
        for (size_t i = 0; i < shape_count(shape); i++)
            to[int8_at_index(layout, shape, n, i)] =
                quantization_round(quantization, from[n * shape_count(shape) + i]);
}

void int8_dequantize(struct quantization quantization, struct tensor_layout layout,
                     struct shape shape, size_t batch, const uint8_t *from, float *to)
{
    for (size_t n = 0; n < batch; n++)
        for (size_t i = 0; i < shape_count(shape); i++)
            to[n * shape_count(shape) + i] =
                quantization_value(quantization, from[int8_at_index(layout, shape, n, i)]);
}

/* The plain-C kernels of precision int8: the same loops as those of float32 beside them, over
 * integers. Every other kernel of int8 gives the same bits. They are written to be read: one sum of
 * 32 bits for each result, in index order, and the arithmetic of int8.h for each. */

static const uint8_t *input_of(const struct kernel_call *call, size_t k)
{
    return (const uint8_t *)call->inputs[k];
}

static size_t input_at(const struct kernel_call *call, size_t k, size_t n, size_t c, size_t y,
                       size_t x)
{
    return int8_at(call->site->layouts[k], call->site->inputs[k], n, c, y, x);
}

static size_t output_at(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    return int8_at(call->site->output_layout, call->site->node->output, n, c, y, x);
}

/* Stores the result of a sum of products. */
static void store_sum(const struct kernel_call *call, const struct int8_output *output, int32_t sum,
                      size_t at)
{
    const struct kernel_site *site = call->site;
    if (site->output_layout.u8)
        ((uint8_t *)call->output)[at] = requantize_clamp(
            requantize(sum, output->requantizer) + site->output_quantization.zero_point, 0);
    else
        call->output[at] = (float)sum * output->scale;
}

/* --- layers with weights --- */

/* Returns the bytes of the integer weights of all outputs; the integers of each output follow them.
 */
static size_t weight_bytes(const struct kernel_site *site)
{
    const size_t count = site->node->op == &op_linear
                             ? shape_count(site->inputs[0]) * site->node->output.channels
                             : site->node->output.channels *
                                   (site->inputs[0].channels / site->node->attributes.conv.groups) *
                                   site->node->attributes.conv.window.kernel_height *
                                   site->node->attributes.conv.window.kernel_width;
    return (count + 63) / 64 * 64;
}

static size_t prepared_layer(const struct kernel_site *site)
{
    return weight_bytes(site) + site->node->output.channels * sizeof(struct int8_output);
}

static struct int8_output *outputs_of(const struct kernel_call *call)
{
    return (struct int8_output *)((char *)call->prepared + weight_bytes(call->site));
}

static void prepare_layer(const struct kernel_call *call)
{
    const struct int8_layer layer = int8_layer_of(call);
    for (size_t o = 0; o < layer.outputs; o++) {
        int8_t *weights = (int8_t *)call->prepared + o * layer.products;
        int8_layer_weights(&layer, o, weights);
        outputs_of(call)[o] = int8_layer_output(&layer, o, weights);
    }
}

static int32_t window_sum(const struct kernel_call *call, const int8_t *weights, size_t n, size_t o,
                          size_t y, size_t x)
{
    const struct conv_attributes *conv = &call->site->node->attributes.conv;
    const struct window *w = &conv->window;
    const struct shape in = call->site->inputs[0];
    const size_t inputs = in.channels / conv->groups;
    const size_t first = o / (conv->outputs / conv->groups) * inputs;
    const int32_t zero_point = call->site->quantizations[0].zero_point;
    int32_t sum = 0;
    size_t iy, ix;
    for (size_t i = 0; i < inputs; i++)
        for (size_t ky = 0; ky < w->kernel_height; ky++)
            for (size_t kx = 0; kx < w->kernel_width; kx++, weights++)
                if (window_tap(y, ky * conv->dilation_height, w->stride_height, w->pad_height,
                               in.height, &iy) &&
                    window_tap(x, kx * conv->dilation_width, w->stride_width, w->pad_width,
                               in.width, &ix))
                    sum += *weights * (input_of(call, 0)[input_at(call, 0, n, first + i, iy, ix)] -
                                       zero_point);
    return sum;
}

static void forward_conv(const struct kernel_call *call)
{
    const struct int8_layer layer = int8_layer_of(call);
    const struct shape out = call->site->node->output;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t o = 0; o < out.channels; o++)
            for (size_t y = 0; y < out.height; y++)
                for (size_t x = 0; x < out.width; x++) {
                    const int8_t *weights = (const int8_t *)call->prepared + o * layer.products;
                    const struct int8_output *output = &outputs_of(call)[o];
                    store_sum(call, output, output->bias + window_sum(call, weights, n, o, y, x),
                              output_at(call, n, o, y, x));
                }
}

static void forward_linear(const struct kernel_call *call)
{
    const struct int8_layer layer = int8_layer_of(call);
    const struct kernel_site *site = call->site;
    for (size_t n = 0; n < site->batch; n++)
        for (size_t o = 0; o < layer.outputs; o++) {
            const int8_t *weights = (const int8_t *)call->prepared + o * layer.products;
            int32_t sum = outputs_of(call)[o].bias;
            for (size_t i = 0; i < layer.products; i++)
                sum += weights[i] *
                       (input_of(call, 0)[int8_at_index(site->layouts[0], site->inputs[0], n, i)] -
                        layer.input.zero_point);
            store_sum(call, &outputs_of(call)[o], sum, output_at(call, n, o, 0, 0));
        }
}

/* --- values --- */

/* Calls `function` for each value of the output, and stores what it returns. */
static void for_each(const struct kernel_call *call,
                     uint8_t (*function)(const struct kernel_call *call, size_t n, size_t c,
                                         size_t y, size_t x))
{
    const struct shape out = call->site->node->output;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < out.channels; c++)
            for (size_t y = 0; y < out.height; y++)
                for (size_t x = 0; x < out.width; x++)
                    ((uint8_t *)call->output)[output_at(call, n, c, y, x)] =
                        function(call, n, c, y, x);
}

static uint8_t relu_value(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    return requantize_clamp(input_of(call, 0)[input_at(call, 0, n, c, y, x)],
                            call->site->quantizations[0].zero_point);
}

static void forward_relu(const struct kernel_call *call)
{
    for_each(call, relu_value);
}

static uint8_t sum_of_values(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    const struct kernel_site *site = call->site;
    const size_t count = site->node->input_count;
    const struct add_factors factors =
        add_factors_make(site->quantizations, count, site->output_quantization);
    int32_t sum = add_offset(&factors, site->quantizations, count);
    for (size_t k = 0; k < count; k++)
        sum += factors.factor[k] * input_of(call, k)[input_at(call, k, n, c, y, x)];
    return requantize_clamp((sum >> factors.right) + site->output_quantization.zero_point, 0);
}

static void forward_add(const struct kernel_call *call)
{
    for_each(call, sum_of_values);
}

static uint8_t concat_value(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    size_t k = 0;
    for (; c >= call->site->inputs[k].channels; k++)
        c -= call->site->inputs[k].channels;
    return input_of(call, k)[input_at(call, k, n, c, y, x)];
}

static void forward_concat(const struct kernel_call *call)
{
    for_each(call, concat_value);
}

/* Returns a value of channel_shift (channel_shift.c); zeros enter at the edge. */
static uint8_t shifted_value(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    const struct shape shape = call->site->inputs[0];
    const size_t group = shape.channels / 9;
    const bool moves = c < 9 * group;
    const size_t fy = moves ? y + 1 - c / group / 3 : y, fx = moves ? x + 1 - c / group % 3 : x;
    return fy < shape.height && fx < shape.width
               ? input_of(call, 0)[input_at(call, 0, n, c, fy, fx)]
               : (uint8_t)call->site->quantizations[0].zero_point;
}

static void forward_channel_shift(const struct kernel_call *call)
{
    for_each(call, shifted_value);
}

static uint8_t shuffled_value(const struct kernel_call *call, size_t n, size_t c, size_t y,
                              size_t x)
{
    const size_t groups = call->site->node->attributes.shuffle.groups;
    const size_t from = c % groups * (call->site->inputs[0].channels / groups) + c / groups;
    return input_of(call, 0)[input_at(call, 0, n, from, y, x)];
}

static void forward_channel_shuffle(const struct kernel_call *call)
{
    for_each(call, shuffled_value);
}

static void forward_flatten(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    for (size_t n = 0; n < site->batch; n++)
        for (size_t i = 0; i < site->node->output.channels; i++) {
            const uint8_t value =
                input_of(call, 0)[int8_at_index(site->layouts[0], site->inputs[0], n, i)];
            if (site->output_layout.u8)
                ((uint8_t *)call->output)[output_at(call, n, i, 0, 0)] = value;
            else
                call->output[output_at(call, n, i, 0, 0)] =
                    quantization_value(site->quantizations[0], value);
        }
}

/* --- pooling --- */

static uint8_t maximum(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0];
    uint8_t most = 0;
    size_t iy, ix;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++)
            if (window_tap(y, ky, w->stride_height, w->pad_height, in.height, &iy) &&
                window_tap(x, kx, w->stride_width, w->pad_width, in.width, &ix)) {
                const uint8_t value = input_of(call, 0)[input_at(call, 0, n, c, iy, ix)];
                most = value > most ? value : most;
            }
    return most;
}

static void forward_max_pool(const struct kernel_call *call)
{
    for_each(call, maximum);
}

/* Sums q - zero_point over a window; padding is 0. */
static int32_t sum_window(const struct kernel_call *call, size_t n, size_t c, size_t y, size_t x)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0];
    int32_t sum = 0;
    size_t iy, ix;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++)
            if (window_tap(y, ky, w->stride_height, w->pad_height, in.height, &iy) &&
                window_tap(x, kx, w->stride_width, w->pad_width, in.width, &ix))
                sum += input_of(call, 0)[input_at(call, 0, n, c, iy, ix)] -
                       call->site->quantizations[0].zero_point;
    return sum;
}

static void forward_average_pool(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    const struct shape out = site->node->output;
    for (size_t n = 0; n < site->batch; n++)
        for (size_t c = 0; c < out.channels; c++)
            for (size_t y = 0; y < out.height; y++)
                for (size_t x = 0; x < out.width; x++) {
                    const size_t count = int8_window_count(&site->node->attributes.pool.window,
                                                           site->inputs[0], y, x);
                    const struct int8_output mean = int8_mean(site, count);
                    store_sum(call, &mean, sum_window(call, n, c, y, x),
                              output_at(call, n, c, y, x));
                }
}

/* --- the list --- */

#define PLAIN(NAME)                                                                                \
    {                                                                                              \
        .name = #NAME " int8 reference", .instruction_set = "any", .op = &op_##NAME,               \
        .traits = KERNEL_INT8, .forward = forward_##NAME                                           \
    }
#define WEIGHTED(NAME)                                                                             \
    {                                                                                              \
        .name = #NAME " int8 reference", .instruction_set = "any", .op = &op_##NAME,               \
        .traits = KERNEL_INT8, .prepared_bytes = prepared_layer, .prepare = prepare_layer,         \
        .forward = forward_##NAME                                                                  \
    }

static const struct kernel kernels[] = {
    WEIGHTED(conv),
    WEIGHTED(linear),
    PLAIN(relu),
    PLAIN(add),
    PLAIN(concat),
    PLAIN(channel_shift),
    PLAIN(channel_shuffle),
    PLAIN(flatten),
    PLAIN(max_pool),
    PLAIN(average_pool),
};

const struct kernel *int8_reference_kernel(const struct op *op)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i].op == op)
            return &kernels[i];
    return NULL;
}
