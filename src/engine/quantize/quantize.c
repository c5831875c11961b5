/* quantize_ranges.c decides what is quantized and with which grids; this file makes the network. */
#include "engine/quantize/quantize.h"

#include "engine/ops/int8.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"

#include <float.h>
#include <math.h>

static bool copy_node(struct graph_copy *copy, const struct quantize_plan *plan,
                      const struct quantization *grids, size_t i, struct error *error)
{
    const struct node *node = &copy->from->nodes[i];
    union attributes attributes = node->attributes;
    if (node->op == &op_conv)
        attributes.conv.int8_weights = plan->int8[i];
    if (node->op == &op_linear)
        attributes.linear.int8_weights = plan->int8[i];
    if (i > 0 && !graph_copy_add(copy, i, &attributes, error))
        return false;
    copy->graph.nodes[copy->map[i]].quantization =
        plan->group[i] == QUANTIZE_NONE ? (struct quantization){0} : grids[i];
    return true;
}

/* --- weights --- */

static float largest_magnitude(const float *values, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(values[i]));
    return largest;
}

/* Returns the least scale of the outputs that have weights other than 0. */
static float least_scale(const float *values, size_t outputs, size_t row)
{
    float least = FLT_MAX;
    for (size_t o = 0; o < outputs; o++) {
        const float scale = largest_magnitude(values + o * row, row) / QUANTIZED_WEIGHT_MAX;
        least = scale >= FLT_MIN ? fminf(least, scale) : least;
    }
    return least < FLT_MAX ? least : 1.0f / QUANTIZED_WEIGHT_MAX;
}

/* Sums and the bias have units of the input's scale times the weights': a scale must not be so
 * small that the bias does not fit into a sum. Half of the limit leaves room for rounding. */
static float fit_bias(float scale, float bias, float input_scale, size_t products)
{
    const double most = int8_most_bias(products) / 2;
    return fmaxf(scale, (float)(fabs((double)bias) / ((double)input_scale * most)));
}

/* Chooses the scales of a layer and rounds its weights to multiples of them. */
static void round_layer(struct weights *weights, const struct node *node, bool per_channel)
{
    const struct graph *graph = weights->graph;
    const struct parameter *weight = &graph->parameters[node->parameters[0]];
    float *values = weights->values + weight->offset;
    float *scales = weights->values + graph_weight_scale(graph, weight)->offset;
    const float *bias = node->parameter_count > 2
                            ? weights->values + graph->parameters[node->parameters[1]].offset
                            : NULL;
    const size_t outputs = weight->dims[0], row = weight->count / outputs;
    const float input_scale = graph->nodes[node->inputs[0]].quantization.scale;
    const float least = least_scale(values, outputs, row);
    float common = 0;
    for (size_t o = 0; o < outputs; o++) {
        const float own = largest_magnitude(values + o * row, row) / QUANTIZED_WEIGHT_MAX;
        scales[o] = fit_bias(own >= FLT_MIN ? own : least, bias ? bias[o] : 0, input_scale, row);
        common = fmaxf(common, scales[o]);
    }
    for (size_t o = 0; o < outputs; o++) {
        scales[o] = per_channel ? scales[o] : common;
        for (size_t i = o * row; i < (o + 1) * row; i++)
            values[i] = scales[o] * (float)quantization_round_weight(scales[o], values[i]);
    }
}

static void round_weights(struct weights *weights, bool per_channel)
{
    const struct graph *graph = weights->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->parameter_count > 0 &&
            graph_weight_scale(graph, &graph->parameters[node->parameters[0]]))
            round_layer(weights, node, per_channel);
    }
    weights_mark_changed(weights);
}

bool quantize_check_weights(const struct weights *weights, struct error *error)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        for (size_t i = 0; i < parameter->count; i++)
            if (!isfinite(weights->values[parameter->offset + i]))
                return error_set(
                    error, ERROR_INPUT, parameter->name,
                    "train it again: tinca weights FILE shows the values of each layer",
                    "its weights contain NaN or infinity");
    }
    return true;
}

struct network *quantize_network(const struct quantize_plan *plan, const struct network *network,
                                 const struct weights *weights, const struct quantization *grids,
                                 bool per_channel, const char *step, struct weights *quantized,
                                 struct error *error)
{
    struct graph_copy copy;
    struct network *made = NULL;
    bool copied = graph_copy_begin(&copy, &network->graph, error);
    for (size_t i = 0; copied && i < network->graph.node_count; i++)
        copied = (i > 0 && !copy.wanted[i]) || copy_node(&copy, plan, grids, i, error);
    if (copied && graph_copy_finish(&copy, error))
        made = graph_copy_network(&copy, network, step, error);
    graph_copy_free(&copy);
    if (!quantized)
        return made;
    *quantized = (struct weights){0};
    if (made && weights_create(quantized, &made->graph, error) &&
        weights_copy_common(quantized, weights, error)) {
        round_weights(quantized, per_channel);
        return made;
    }
    weights_free(quantized);
    network_free(made);
    return NULL;
}
