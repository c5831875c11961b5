/* The layers in the order of the graph, each with its own top: in place of nothing, so the file can
 * be read without following values that change. */
#include "session/caffe/caffe_exporter.h"

#include "base/files/output_file.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_LIMIT ((size_t)256 << 20)

struct caffe_written_layer *caffe_begin_layer(struct caffe_exporter *ex, const char *type,
                                              const char *name, const char *const *bottoms,
                                              size_t count)
{
    if (!memory_grow(&ex->layers, &ex->layer_capacity, ex->layer_count + 1, sizeof *ex->layers,
                     "the Caffe model", ex->error)) {
        ex->memory.failed = true;
        return NULL;
    }
    struct caffe_written_layer *layer = &ex->layers[ex->layer_count++];
    *layer = (struct caffe_written_layer){.name = name};
    text_append(&ex->text, "layer {\n  name: \"%s\"\n  type: \"%s\"\n", name, type);
    for (size_t i = 0; i < count; i++)
        text_append(&ex->text, "  bottom: \"%s\"\n", bottoms[i]);
    text_append(&ex->text, "  top: \"%s\"\n", name);
    return layer;
}

void caffe_end_layer(struct caffe_exporter *ex)
{
    text_append(&ex->text, "}\n");
}

void caffe_add_blob(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                    const float *values, const size_t *dims, size_t rank)
{
    if (!layer || !ex->weights)
        return;
    layer->blobs[layer->blob_count++] = (struct caffe_written_blob){values, dims, rank};
}

void caffe_add_parameter(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                         const struct node *node, size_t k)
{
    const struct parameter *parameter = &ex->graph->parameters[node->parameters[k]];
    if (ex->weights)
        caffe_add_blob(ex, layer, ex->weights->values + parameter->offset, parameter->dims,
                       parameter->rank);
}

/* Writes what a reader must know, and the input. */
static void begin_text(struct caffe_exporter *ex, const char *name)
{
    const struct shape input = ex->graph->nodes[0].output;
    text_append(&ex->text, "# Written by tinca. ");
    if (input.channels == 3)
        text_append(&ex->text, "The network expects images whose channels are in the order RGB.\n");
    else
        text_append(&ex->text, "The network in inference.\n");
    text_append(&ex->text,
                "name: \"%s\"\nlayer {\n  name: \"data\"\n  type: \"Input\"\n  top: \"data\"\n  "
                "input_param {\n    shape {\n      dim: 1\n      dim: %zu\n      dim: %zu\n      "
                "dim: %zu\n    }\n  }\n}\n",
                name, input.channels, input.height, input.width);
}

static bool export_layers(struct caffe_exporter *ex, bool *wanted)
{
    const struct graph *graph = ex->graph;
    graph_mark_ancestors(graph, graph->output, wanted);
    ex->tops[0] = "data";
    for (size_t i = 1; i < graph->node_count; i++) {
        if (!wanted[i])
            continue;
        if (strcmp(graph->nodes[i].name, "data") == 0)
            return error_set(ex->error, ERROR_UNSUPPORTED, "data", "give the layer another name",
                             "the network's input has this name in Caffe's file");
        if (!caffe_export_node(ex, i))
            return false;
    }
    return true;
}

/* Adds the softmax that Caffe's networks end with, unless the network has it. */
static void add_softmax(struct caffe_exporter *ex, const struct network *network)
{
    const size_t output = ex->graph->output;
    size_t unused;
    if (network->classes == 0 || ex->graph->nodes[output].op == &op_softmax ||
        graph_find(ex->graph, "prob", &unused))
        return;
    caffe_begin_layer(ex, "Softmax", "prob", &ex->tops[output], 1);
    caffe_end_layer(ex);
}

static bool write_files(struct caffe_exporter *ex, const char *path, const char *binary)
{
    if (ex->text.failed || ex->memory.failed)
        return error_set_memory(ex->error, "the Caffe model", 0);
    return (!binary || caffe_binary_write(ex->text.data, ex->text.length, ex->layers,
                                          ex->layer_count, binary, ex->error)) &&
           output_file_write(path, ex->text.data, ex->text.length, OUTPUT_TEXT, ex->error);
}

bool caffe_export(const struct network *network, const struct weights *weights, const char *path,
                  const char *binary, struct error *error)
{
    char name[NETWORK_SHORT_NAME + 64];
    struct caffe_exporter ex = {.graph = &network->graph,
                                .weights = binary ? weights : NULL,
                                .memory = {.left = MEMORY_LIMIT},
                                .error = error};
    if ((binary && (!caffe_binary_check(binary, error) ||
                    !output_file_check(binary, OUTPUT_BINARY, error))) ||
        !output_file_check(path, OUTPUT_TEXT, error))
        return false;
    bool *wanted = memory_new(network->graph.node_count, sizeof *wanted, "the network", error);
    ex.tops = memory_new(network->graph.node_count, sizeof *ex.tops, "the network", error);
    bool done = false;
    if (wanted && ex.tops) {
        network_full_name(network, name, sizeof name);
        begin_text(&ex, name);
        done = export_layers(&ex, wanted);
        if (done)
            add_softmax(&ex, network);
        done = done && write_files(&ex, path, binary);
    }
    free(wanted);
    free(ex.tops);
    free(ex.layers);
    text_free(&ex.text);
    caffe_tree_free(&ex.memory);
    return done;
}
