/* A copy keeps the order of the nodes, and of the losses that are copied. */
#include "engine/quantize/graph_copy.h"

#include "base/memory.h"
#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool graph_copy_begin(struct graph_copy *copy, const struct graph *from, struct error *error)
{
    *copy = (struct graph_copy){.from = from};
    if (!graph_create(&copy->graph, from->nodes[0].output, error))
        return false;
    copy->graph.nodes[0].quantization = from->nodes[0].quantization;
    copy->map = memory_new(from->node_count, sizeof *copy->map, "the network", error);
    copy->wanted = memory_new(from->node_count, sizeof *copy->wanted, "the network", error);
    if (!copy->map || !copy->wanted)
        return false;
    graph_mark_ancestors(from, from->loss_count ? from->losses[0] : from->output, copy->wanted);
    copy->wanted[0] = false;
    return true;
}

void graph_copy_free(struct graph_copy *copy)
{
    graph_free(&copy->graph);
    free(copy->map);
    free(copy->wanted);
    *copy = (struct graph_copy){0};
}

bool graph_copy_add(struct graph_copy *copy, size_t i, const union attributes *attributes,
                    struct error *error)
{
    const struct node *node = &copy->from->nodes[i];
    size_t inputs[NODE_MAX_INPUTS];
    if (node->op == &op_input)
        return graph_add_input(&copy->graph, node->name, node->output, &copy->map[i], error);
    for (size_t k = 0; k < node->input_count; k++)
        inputs[k] = copy->map[node->inputs[k]];
    if (!graph_add(&copy->graph, node->op, node->name, inputs, node->input_count,
                   attributes ? attributes : &node->attributes, &copy->map[i], error))
        return false;
    copy->graph.nodes[copy->map[i]].quantization = node->quantization;
    return true;
}

void graph_copy_name(const char *name, const char *suffix, char out[NODE_NAME_SIZE])
{
    const int room = (int)(NODE_NAME_SIZE - strlen(suffix)) - 2;
    snprintf(out, NODE_NAME_SIZE, "%.*s.%s", room, name, suffix);
}

bool graph_copy_append(struct graph_copy *copy, size_t i, const struct op *op, const char *suffix,
                       const union attributes *attributes, struct error *error)
{
    char name[NODE_NAME_SIZE];
    graph_copy_name(copy->from->nodes[i].name, suffix, name);
    return graph_add(&copy->graph, op, name, &copy->map[i], 1, attributes, &copy->map[i], error);
}

bool graph_copy_finish(struct graph_copy *copy, struct error *error)
{
    size_t losses = 0;
    for (size_t i = 0; i < copy->from->loss_count; i++)
        if (copy->wanted[copy->from->losses[i]])
            copy->graph.losses[losses++] = copy->map[copy->from->losses[i]];
    assert(losses == copy->graph.loss_count);
    return graph_finish(&copy->graph, error);
}

size_t graph_count_readers(const struct graph *graph, const bool *wanted, size_t i, size_t *reader)
{
    size_t count = 0;
    for (size_t n = i + 1; n < graph->node_count; n++)
        for (size_t k = 0; wanted[n] && k < graph->nodes[n].input_count; k++)
            if (graph->nodes[n].inputs[k] == i) {
                count++;
                if (reader)
                    *reader = n;
            }
    return count;
}

struct network *graph_copy_network(const struct graph_copy *copy, const struct network *of,
                                   const char *step, struct error *error)
{
    struct network changed = *of;
    changed.graph = copy->graph;
    struct json *tree = network_to_json(&changed);
    struct network *network = NULL;
    if (!tree)
        error_set_memory(error, "the network file", 0);
    else if (!step || compression_append(tree, step, error))
        network = network_from_json(tree, error);
    json_free(tree);
    return network;
}
