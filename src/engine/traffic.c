#include "engine/traffic.h"

static bool computes_nothing(const struct plan *plan, size_t node)
{
    for (size_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].node == node)
            return !plan->steps[i].kernel;
    return false;
}

double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch)
{
    const struct graph *graph = plan->graph;
    const struct node *layer = &graph->nodes[node];
    struct shape inputs[NODE_MAX_INPUTS];
    if (computes_nothing(plan, node))
        return 0;
    size_t values = shape_count(layer->output);
    graph_input_shapes(graph, layer, inputs);
    for (size_t i = 0; i < layer->input_count; i++)
        values += shape_count(inputs[i]);
    size_t parameters = graph_node_parameter_count(graph, node);
    return sizeof(float) * ((double)values + (double)parameters / (double)batch);
}

double traffic_bytes(const struct plan *plan, size_t batch)
{
    double bytes = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        bytes += traffic_node_bytes(plan, plan->steps[i].node, batch);
    return bytes;
}
