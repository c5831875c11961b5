/* A network becomes a network file: each node of the graph is one layer, in the graph's order, and
 * its operator's `write` adds the attributes that the operator's `read` reads. Two nodes are left
 * out, because network_build adds them itself: the main loss, which the file names, and the input
 * of its targets. */
#include "engine/network/network_write.h"

#include "base/memory.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- layers --- */

static bool add_inputs(struct json *layer, const struct graph *graph, const struct node *node)
{
    if (node->input_count == 1)
        return json_add_string(layer, "from", graph->nodes[node->inputs[0]].name);
    struct json *from = json_add_array(layer, "from");
    for (size_t i = 0; i < node->input_count; i++)
        if (!json_add_string(from, NULL, graph->nodes[node->inputs[i]].name))
            return false;
    return from;
}

static bool add_quantization(struct json *parent, const char *key, struct quantization quantization)
{
    if (!quantization_is_set(quantization))
        return true;
    struct json *pair = json_add_array(parent, key);
    return json_add_float(pair, NULL, quantization.scale) &&
           json_add_count(pair, NULL, (size_t)quantization.zero_point);
}

bool network_open_outputs(struct json *layer)
{
    json_remove(layer, "output");
    return json_add_string(layer, "output", "classes");
}

/* Adds each layer; those that are marked as output layers have as many outputs as there are
 * classes, so that a data set can decide how many. */
static bool add_each(struct json *parent, const struct graph *graph, const bool *outputs)
{
    struct json *layers = json_add_array(parent, "layers");
    for (size_t i = 1; i < graph->node_count; i++) {
        const struct node *node = &graph->nodes[i];
        if (i == graph->losses[0] || node->op == &op_input)
            continue;
        struct json *layer = json_add_object(layers, NULL);
        if (!json_add_string(layer, "op", node->op->name) ||
            !json_add_string(layer, "name", node->name) || !add_inputs(layer, graph, node) ||
            (node->op->write && !node->op->write(&node->attributes, layer)) ||
            !add_quantization(layer, "quantized", node->quantization) ||
            (outputs[i] && graph_counts_outputs(node) && !network_open_outputs(layer)))
            return false;
    }
    return layers;
}

static bool add_layers(struct json *parent, const struct graph *graph)
{
    bool *outputs = memory_new(graph->node_count, sizeof *outputs, "the network file", NULL);
    if (outputs)
        graph_mark_outputs(graph, outputs); /* else none is marked: the numbers are written */
    const bool added = outputs && add_each(parent, graph, outputs);
    free(outputs);
    return added;
}

/* --- the file --- */

/* Adds the head of the file. The name has the suffixes of the variation, which is applied, but not
 * the chain, which has a separate key. */
static bool add_head(struct json *root, const struct network *network)
{
    const size_t classes = graph_classes(&network->graph);
    char name[sizeof network->name + 64 + sizeof network->compression];
    network_full_name(network, name, sizeof name);
    if (network->compression[0])
        name[strlen(name) - strlen(network->compression) - 1] = '\0';
    struct json *input = NULL;
    return json_add_string(root, "name", name) && json_add_string(root, "title", network->title) &&
           (input = json_add_array(root, "input")) &&
           json_add_count(input, NULL, network->input.channels) &&
           json_add_count(input, NULL, network->input.height) &&
           json_add_count(input, NULL, network->input.width) &&
           (classes == 0 || json_add_count(root, "classes", classes)) &&
           (!network->compression[0] ||
            json_add_string(root, "compression", network->compression)) &&
           json_add_string(root, "normalise", network->normalisation) &&
           add_quantization(root, "input_quantized", network->graph.nodes[0].quantization) &&
           json_add_string(root, "loss", network->graph.nodes[network->graph.losses[0]].op->name);
}

struct json *network_to_json(const struct network *network)
{
    struct json *root = json_new_object();
    if (root && add_head(root, network) && add_layers(root, &network->graph) &&
        (!network_has_discriminator(network) ||
         add_layers(json_add_object(root, "discriminator"), &network->discriminator)))
        return root;
    json_free(root);
    return NULL;
}
