/* The rules of precision int8 that do not depend on a device (int8.h). */
#include "engine/ops/int8.h"

#include "base/language.h"
#include "engine/ops/op.h"

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

/* A channel whose weights are all 0 may have any scale. */
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
