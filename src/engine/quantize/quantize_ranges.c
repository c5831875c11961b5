/* Integers spread forwards from the layers with quantized weights, through sums, average poolings
 * and layers that only move values. A layer that only moves values and that nothing in integers
 * reads is taken back, from the last node on, so that the layer before it computes its output in
 * float32. */
#include "engine/quantize/quantize.h"

#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "engine/quantize/simulate.h"

#include <stdlib.h>

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
