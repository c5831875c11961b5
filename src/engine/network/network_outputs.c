/* The number of classes of a network: counted in the finished graph, and changed in the file. */
#include "engine/network/network_builder.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"

#include <stdio.h>
#include <stdlib.h>

bool builder_count_classes(struct builder *builder)
{
    const struct graph *graph = builder->graph;
    size_t other;
    builder->network->classes = graph_classes(graph);
    return graph_classes_agree(graph, &other) ||
           error_set(builder->error, ERROR_INPUT, builder->document->name,
                     "give all layers that losses over classes read as many outputs",
                     "its main loss reads %zu classes, but an auxiliary one %zu",
                     builder->network->classes, other);
}

static bool refuse(const struct builder *builder, size_t classes, const char *why)
{
    const struct network *network = builder->network;
    return error_set(builder->error, ERROR_UNSUPPORTED, builder->document->name,
                     "write \"output\": \"classes\" in the layers that compute its outputs",
                     "its %zu outputs cannot be made %zu: %s", network->classes, classes,
                     language_text(why));
}

/* Returns the layer of the file that became the node and no other one; NULL: there is none. */
static struct json *layer_of(const struct builder *builder, size_t node)
{
    const struct json *layer = NULL;
    for (size_t i = 0; i < builder->counted_count; i++)
        if (builder->counted[i].node == node)
            layer = builder->counted[i].layer;
    for (size_t i = 0; i < builder->counted_count; i++)
        if (builder->counted[i].layer == layer && builder->counted[i].node != node)
            return NULL;
    return (struct json *)layer; /* a part of the document, which the caller lets change */
}

static bool open_layers(struct builder *builder, const bool *outputs, size_t classes)
{
    for (size_t i = 0; i < builder->graph->node_count; i++) {
        if (!outputs[i] || !graph_counts_outputs(&builder->graph->nodes[i]))
            continue;
        struct json *layer = layer_of(builder, i);
        if (!layer)
            return refuse(builder, classes, N_("a block or a repetition computes them"));
        if (!network_open_outputs(layer))
            return error_set_memory(builder->error, "the network file", 0);
    }
    return true;
}

char *builder_remake_outputs(struct builder *builder, size_t classes)
{
    struct json *root = (struct json *)builder->document->root;
    bool *outputs =
        memory_new(builder->graph->node_count, sizeof *outputs, "the network file", builder->error);
    char *text = NULL;
    if (outputs && !graph_mark_outputs(builder->graph, outputs))
        refuse(builder, classes, N_("no single layer computes them"));
    else if (outputs && open_layers(builder, outputs, classes)) {
        json_remove(root, "classes");
        json_remove(root, "crc32");
        if (json_add_count(root, "classes", classes))
            text = json_print(root, true, builder->error);
        else
            error_set_memory(builder->error, "the network file", 0);
    }
    free(outputs);
    return text;
}
