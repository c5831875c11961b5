#include "engine/graph/quantization.h"

#include "engine/graph/graph.h"

#include <string.h>

bool parameter_is_weight_scale(const struct parameter *parameter)
{
    const char *suffix = strrchr(parameter->name, '.');
    return suffix && strcmp(suffix, ".weight_scale") == 0;
}

const struct parameter *graph_weight_scale(const struct graph *graph,
                                           const struct parameter *parameter)
{
    const struct node *node = &graph->nodes[parameter->node];
    const struct parameter *last = &graph->parameters[node->parameters[node->parameter_count - 1]];
    const bool is_weight = parameter == &graph->parameters[node->parameters[0]];
    return is_weight && parameter_is_weight_scale(last) ? last : NULL;
}

bool graph_is_quantized(const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (quantization_is_set(graph->nodes[i].quantization))
            return true;
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (parameter_is_weight_scale(&graph->parameters[p]))
            return true;
    return false;
}
