/* First decides which nodes are quantized and with which grids, then makes the network.
 *
 * Integers spread forwards from the layers with quantized weights, through sums, average poolings
 * and layers that only move values. A layer that only moves values and whose values nothing in
 * integers reads is taken back, from the last node on, so that the layer before it computes its
 * output in float32. */
#include "engine/quantize/quantize.h"

#include "base/memory.h"
#include "engine/ops/int8.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "engine/quantize/simulate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* --- the layers that are quantized --- */

bool quantize_has_weights(const struct node *node)
{
    return node->op == &op_conv || node->op == &op_linear;
}

static bool has_int8_input(const struct quantize_plan *plan, const struct node *node)
{
    for (size_t k = 0; k < node->input_count; k++)
        if (plan->int8[node->inputs[k]])
            return true;
    return false;
}

static bool has_int8_reader(const struct quantize_plan *plan, size_t i)
{
    for (size_t n = i + 1; n < plan->graph->node_count; n++)
        for (size_t k = 0;
             plan->wanted[n] && plan->int8[n] && k < plan->graph->nodes[n].input_count; k++)
            if (plan->graph->nodes[n].inputs[k] == i)
                return true;
    return false;
}

static void spread(struct quantize_plan *plan, const bool *layers, bool alone)
{
    const struct graph *graph = plan->graph;
    for (size_t i = 1; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        const bool follows =
            op_moves_values(node->op) || node->op == &op_add || node->op == &op_average_pool;
        plan->int8[i] = plan->wanted[i] && (quantize_has_weights(node)
                                                ? layers[i]
                                                : !alone && follows && has_int8_input(plan, node));
    }
    for (size_t i = graph->node_count; i-- > 1;)
        if (op_moves_values(graph->nodes[i].op) && !has_int8_reader(plan, i))
            plan->int8[i] = false;
}

/* --- groups --- */

static size_t find_group(const size_t *group, size_t i)
{
    while (group[i] != i)
        i = group[i];
    return i;
}

static void join_groups(size_t *group, size_t a, size_t b)
{
    a = find_group(group, a);
    b = find_group(group, b);
    group[a < b ? b : a] = a < b ? a : b;
}

static void make_groups(struct quantize_plan *plan)
{
    const struct graph *graph = plan->graph;
    for (size_t i = 0; i < graph->node_count; i++)
        plan->group[i] = i;
    for (size_t i = 1; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        for (size_t k = 0; plan->int8[i] && op_moves_values(node->op) && k < node->input_count; k++)
            join_groups(plan->group, i, node->inputs[k]);
    }
    for (size_t i = 0; i < graph->node_count; i++)
        plan->group[i] = find_group(plan->group, i);
    for (size_t i = 0; i < graph->node_count; i++)
        if (!has_int8_reader(plan, i))
            plan->group[i] = QUANTIZE_NONE;
}

/* Returns whether a relu alone reads the values of node `i`, perhaps after layers that move them;
 * the nodes behind it are marked already. */
static bool is_clipped(const struct quantize_plan *plan, size_t i)
{
    size_t reader;
    if (i == 0 || plan->group[i] == QUANTIZE_NONE ||
        graph_count_readers(plan->graph, plan->wanted, i, &reader) != 1)
        return false;
    const struct op *op = plan->graph->nodes[reader].op;
    return op == &op_relu || (op_moves_values(op) && plan->clipped[reader]);
}

bool quantize_plan_make(struct quantize_plan *plan, const struct graph *graph, const bool *layers,
                        bool alone, struct error *error)
{
    const size_t nodes = graph->node_count;
    *plan = (struct quantize_plan){
        .graph = graph,
        .wanted = memory_new(nodes, sizeof *plan->wanted, "the network", error),
        .int8 = memory_new(nodes, sizeof *plan->int8, "the network", error),
        .group = memory_new(nodes, sizeof *plan->group, "the network", error),
        .clipped = memory_new(nodes, sizeof *plan->clipped, "the network", error)};
    if (!plan->wanted || !plan->int8 || !plan->group || !plan->clipped)
        return false;
    graph_mark_ancestors(graph, graph->output, plan->wanted);
    spread(plan, layers, alone);
    make_groups(plan);
    for (size_t i = nodes; i-- > 0;)
        plan->clipped[i] = is_clipped(plan, i);
    return true;
}

void quantize_plan_free(struct quantize_plan *plan)
{
    free(plan->wanted);
    free(plan->int8);
    free(plan->group);
    free(plan->clipped);
    *plan = (struct quantize_plan){0};
}

void quantize_set_grids(const struct quantize_plan *plan, const struct sample_range *ranges,
                        struct quantization *grids)
{
    for (size_t first = 0; first < plan->graph->node_count; first++) {
        struct sample_range range = SAMPLE_RANGE_NONE;
        bool any = false;
        for (size_t i = first; i < plan->graph->node_count; i++)
            if (plan->group[i] == first && !plan->clipped[i]) {
                range = sample_range_join(range, ranges[i]);
                any = true;
            }
        for (size_t i = first; any && i < plan->graph->node_count; i++)
            if (plan->group[i] == first)
                grids[i] = quantization_of_range(range);
    }
}

/* --- the network --- */

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

/* Returns the scale, enlarged if necessary so that the bias fits into a sum: sums and the bias have
 * units of the input's scale times the weights'. Half of the limit leaves room for rounding. */
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
