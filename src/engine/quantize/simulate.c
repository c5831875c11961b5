#include "engine/quantize/simulate.h"

#include "engine/ops/int8.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"

bool op_moves_values(const struct op *op)
{
    return op == &op_relu || op == &op_max_pool || op == &op_concat || op == &op_flatten ||
           op == &op_dropout || op == &op_channel_shift || op == &op_channel_shuffle;
}

/* Returns whether all inputs of a node are on the grid of its output. */
static bool inputs_are_rounded(const struct graph *graph, const struct node *node)
{
    for (size_t k = 0; k < node->input_count; k++)
        if (!quantization_equal(graph->nodes[node->inputs[k]].quantization, node->quantization))
            return false;
    return true;
}

/* Returns whether node `i` has a relu as its only reader, which rounds instead of it. */
static bool relu_rounds(const struct graph_copy *copy, size_t i)
{
    const struct graph *graph = copy->from;
    size_t reader;
    if (graph->nodes[i].quantization.zero_point != 0 ||
        graph_count_readers(graph, copy->wanted, i, &reader) != 1)
        return false;
    const struct node *node = &graph->nodes[reader];
    return node->op == &op_relu &&
           quantization_equal(node->quantization, graph->nodes[i].quantization);
}

static bool must_round(const struct graph_copy *copy, size_t i)
{
    const struct node *node = &copy->from->nodes[i];
    if (!quantization_is_set(node->quantization) || relu_rounds(copy, i))
        return false;
    /* a relu rounds for the layer before it */
    const bool rounds_for_input = node->op == &op_relu && relu_rounds(copy, node->inputs[0]);
    return !op_moves_values(node->op) || rounds_for_input || !inputs_are_rounded(copy->from, node);
}

static bool copy_rounded(struct graph_copy *copy, size_t i, struct error *error)
{
    const struct node *node = &copy->from->nodes[i];
    const union attributes grid = {.fake_quantize = node->quantization};
    return (i == 0 || graph_copy_add(copy, i, NULL, error)) &&
           (!must_round(copy, i) ||
            graph_copy_append(copy, i, &op_fake_quantize, SIMULATE_SUFFIX, &grid, error));
}

bool network_is_simulated(const struct network *network)
{
    return int8_is_simulated(&network->graph);
}

bool network_simulate(struct network *network, struct error *error)
{
    struct graph_copy copy;
    if (!graph_is_quantized(&network->graph) || network_is_simulated(network))
        return true;
    bool copied = graph_copy_begin(&copy, &network->graph, error);
    for (size_t i = 1; copied && i < network->graph.node_count; i++)
        copy.wanted[i] = true; /* auxiliary heads, too, so that the parameters are the same */
    for (size_t i = 0; copied && i < network->graph.node_count; i++)
        copied = copy_rounded(&copy, i, error);
    copied = copied && graph_copy_finish(&copy, error);
    if (copied) {
        graph_free(&network->graph);
        network->graph = copy.graph;
        copy.graph = (struct graph){0};
    }
    graph_copy_free(&copy);
    return copied;
}
