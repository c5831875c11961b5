/* The parameters and FLOPs of a pruned network follow from the number of channels that each node
 * keeps, so a candidate is measured without building it: every operator computes its own for other
 * shapes. */
#include "engine/compress/prune_selection.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- measuring --- */

struct node prune_node(const struct graph *graph, const size_t *kept, size_t number,
                       struct shape *inputs)
{
    struct node node = graph->nodes[number];
    graph_input_shapes(graph, &node, inputs);
    const size_t before = node.input_count ? inputs[0].channels : 0;
    for (size_t k = 0; k < node.input_count; k++)
        inputs[k].channels = kept[node.inputs[k]];
    node.output.channels = kept[number];
    if (node.op == &op_linear)
        node.attributes.linear.outputs = kept[number];
    if (node.op == &op_conv || node.op == &op_conv_transpose) {
        struct conv_attributes *conv = &node.attributes.conv;
        if (channel_groups_are_whole(conv, before))
            conv->groups = inputs[0].channels * conv->groups / before;
        conv->outputs = kept[number];
    }
    return node;
}

/* Returns the values of parameter `i` of a node that prune_node has changed. */
static uint64_t count_values(const struct graph *graph, const struct node *node, size_t i,
                             const struct shape *inputs)
{
    const struct parameter *parameter = &graph->parameters[node->parameters[i]];
    const size_t outputs = node->output.channels;
    if (i > 0 || parameter->rank == 1)
        return outputs;
    if (node->op == &op_linear)
        return (uint64_t)outputs * shape_count(inputs[0]);
    const size_t groups = node->attributes.conv.groups;
    return (uint64_t)outputs * inputs[0].channels / groups * parameter->dims[2] *
           parameter->dims[3];
}

static void measure_selection(const struct graph *graph, const bool *needed,
                              struct prune_selection *selection)
{
    selection->flops = selection->parameters = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct shape inputs[NODE_MAX_INPUTS];
        const struct node node = prune_node(graph, selection->kept, i, inputs);
        if (needed[i] && node.op->flops)
            selection->flops += node.op->flops(&node, inputs);
        for (size_t p = 0; p < node.parameter_count; p++)
            if (graph->parameters[node.parameters[p]].learnable)
                selection->parameters += count_values(graph, &node, p, inputs);
    }
}

/* --- selecting --- */

struct selector {
    struct prune_selection *selection;
    const struct channel_groups *groups;
    const double *importance;
    enum prune_measure measure;
    bool *needed;  /* by node: the output depends on it */
    size_t *order; /* free groups, the least important first */
    size_t count;
};

static uint64_t taken(const struct selector *selector)
{
    measure_selection(selector->groups->graph, selector->needed, selector->selection);
    return selector->measure == PRUNE_FLOPS ? selector->selection->flops
                                            : selector->selection->parameters;
}

static void change(struct selector *selector, size_t number, bool removed)
{
    const struct channel_groups *groups = selector->groups;
    const struct channel_group *group = &groups->groups[number];
    selector->selection->removed[number] = removed;
    for (size_t i = group->begin; i < group->begin + group->size; i++)
        selector->selection->kept[groups->node_of[groups->channels[i]]] += removed ? -1 : 1;
}

static size_t least_channels(size_t channels)
{
    const size_t least = (size_t)ceil(PRUNE_LEAST_SHARE * (double)channels);
    return least ? least : 1;
}

/* Removes a group unless a node would keep too few channels. Returns whether it did. */
static bool try_removing(struct selector *selector, size_t number)
{
    const struct channel_groups *groups = selector->groups;
    const struct channel_group *group = &groups->groups[number];
    change(selector, number, true);
    for (size_t i = group->begin; i < group->begin + group->size; i++) {
        const size_t node = groups->node_of[groups->channels[i]];
        if (selector->selection->kept[node] <
            least_channels(groups->graph->nodes[node].output.channels)) {
            change(selector, number, false);
            return false;
        }
    }
    return true;
}

struct ranked {
    double importance;
    size_t group;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *first = a, *second = b;
    if (first->importance != second->importance)
        return first->importance < second->importance ? -1 : 1;
    return first->group < second->group ? -1 : first->group > second->group;
}

static bool rank(struct selector *selector, struct error *error)
{
    const struct channel_groups *groups = selector->groups;
    struct ranked *ranked = memory_new(groups->count, sizeof *ranked, "an order", error);
    if (!ranked)
        return false;
    for (size_t i = 0; i < groups->count; i++)
        if (groups->groups[i].hold == CHANNEL_FREE && !isnan(selector->importance[i]))
            ranked[selector->count++] = (struct ranked){selector->importance[i], i};
    qsort(ranked, selector->count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < selector->count; i++)
        selector->order[i] = ranked[i].group;
    free(ranked);
    return true;
}

static bool refuse(const struct selector *selector, uint64_t least, struct error *error)
{
    const struct graph *graph = selector->groups->graph;
    const bool flops = selector->measure == PRUNE_FLOPS;
    const double all = flops ? (double)graph_flops(graph) : (double)graph_parameter_count(graph);
    return error_set(error, ERROR_INPUT, flops ? "FLOPs" : N_("parameters"),
                     N_("choose a higher target, or fewer layers to keep"),
                     "%.3g of the network remain when every layer keeps a tenth of its channels",
                     (double)least / all);
}

static bool select_groups(struct selector *selector, uint64_t limit, struct error *error)
{
    size_t i = 0;
    uint64_t now = taken(selector);
    for (; i < selector->count && now > limit; i++)
        if (try_removing(selector, selector->order[i]))
            now = taken(selector);
    if (now > limit)
        return refuse(selector, now, error);
    while (i-- > 0)
        if (selector->selection->removed[selector->order[i]]) {
            change(selector, selector->order[i], false);
            if (taken(selector) > limit)
                change(selector, selector->order[i], true);
        }
    taken(selector);
    return true;
}

static bool begin(struct selector *selector, struct error *error)
{
    const struct channel_groups *groups = selector->groups;
    const struct graph *graph = groups->graph;
    struct prune_selection *selection = selector->selection;
    *selection = (struct prune_selection){0};
    if (!(selection->removed =
              memory_new(groups->count, sizeof *selection->removed, "a selection", error)) ||
        !(selection->kept =
              memory_new(graph->node_count, sizeof *selection->kept, "a selection", error)) ||
        !(selector->needed =
              memory_new(graph->node_count, sizeof *selector->needed, "a selection", error)) ||
        !(selector->order =
              memory_new(groups->count, sizeof *selector->order, "a selection", error)))
        return false;
    for (size_t i = 0; i < graph->node_count; i++)
        selection->kept[i] = graph->nodes[i].output.channels;
    graph_mark_ancestors(graph, graph->output, selector->needed);
    return true;
}

static void end(struct selector *selector, bool selected)
{
    free(selector->needed);
    free(selector->order);
    if (!selected)
        prune_selection_free(selector->selection);
}

bool prune_select(struct prune_selection *selection, const struct channel_groups *groups,
                  const double *importance, enum prune_measure measure, uint64_t limit,
                  struct error *error)
{
    struct selector selector = {
        .selection = selection, .groups = groups, .importance = importance, .measure = measure};
    const bool selected =
        begin(&selector, error) && rank(&selector, error) && select_groups(&selector, limit, error);
    end(&selector, selected);
    return selected;
}

void prune_selection_free(struct prune_selection *selection)
{
    free(selection->removed);
    free(selection->kept);
    *selection = (struct prune_selection){0};
}
