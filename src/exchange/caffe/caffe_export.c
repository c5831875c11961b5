/* The layers in the order of the graph, each with its own top: in place of nothing, so the file can
 * be read without following values that change. */
#include "exchange/caffe/internal.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/op.h"
#include "exchange/frame/exporter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of an export. */
struct caffe_exporter {
    const struct graph *graph;
    const struct weights *weights; /* NULL: no binary file */
    struct text text;              /* of the .prototxt file */
    struct caffe_tree memory;      /* of names and changed arrays */
    struct caffe_written_layer *layers;
    size_t layer_count, layer_capacity;
    const char **tops; /* by node: the name of its output */
    struct error *error;
};

/* --- the text of a layer --- */

/* Begins a layer that reads `bottoms`, and returns it: its type, name and bottoms are in the text,
 * its parameters are to follow. NULL if memory runs out. */
static struct caffe_written_layer *begin_layer(struct caffe_exporter *ex, const char *type,
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

/* Ends the layer in the text. */
static void end_layer(struct caffe_exporter *ex)
{
    text_append(&ex->text, "}\n");
}

/* Appends an array to a layer; NULL as the layer, or no weights: does nothing. */
static void add_blob(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                     const float *values, const size_t *dims, size_t rank)
{
    if (!layer || !ex->weights)
        return;
    layer->blobs[layer->blob_count++] = (struct caffe_written_blob){values, dims, rank};
}

/* Appends parameter `k` of a node. */
static void add_parameter(const struct caffe_exporter *ex, struct caffe_written_layer *layer,
                          const struct node *node, size_t k)
{
    const struct parameter *parameter = &ex->graph->parameters[node->parameters[k]];
    if (ex->weights)
        add_blob(ex, layer, ex->weights->values + parameter->offset, parameter->dims,
                 parameter->rank);
}

/* --- caffe export layers --- */

/* One function for each operator that Caffe has. */

static bool lacks(const struct caffe_exporter *ex, const struct node *node, const char *why)
{
    return error_set(ex->error, ERROR_UNSUPPORTED, node->name,
                     "export the network as ONNX, or change it", "Caffe has no layer for %s: %s",
                     node->op->name, gettext(why));
}

/* Writes a layer of one input, whose parameters are the text `parameters` ("": none). */
static struct caffe_written_layer *simple(struct caffe_exporter *ex, const struct node *node,
                                          const char *type, const char *parameters)
{
    struct caffe_written_layer *layer =
        begin_layer(ex, type, node->name, &ex->tops[node->inputs[0]], 1);
    text_append(&ex->text, "%s", parameters);
    end_layer(ex);
    return layer;
}

/* --- windows --- */

/* Appends a size along both axes, as `name` or as name_h and name_w; nothing if it is `usual`. */
static void append_sides(struct text *text, const char *name, const char *stem, size_t high,
                         size_t wide, size_t usual)
{
    if (high == wide && high != usual)
        text_append(text, "    %s: %zu\n", name, high);
    else if (high != wide)
        text_append(text, "    %s_h: %zu\n    %s_w: %zu\n", stem, high, stem, wide);
}

static void append_window(struct text *text, const struct window *w)
{
    append_sides(text, "kernel_size", "kernel", w->kernel_height, w->kernel_width, 0);
    append_sides(text, "stride", "stride", w->stride_height, w->stride_width, 1);
    append_sides(text, "pad", "pad", w->pad_height, w->pad_width, 0);
}

static void append_filler(struct text *text, const char *name, const struct initialiser *init)
{
    if (init->kind == INITIALISE_CONSTANT && init->value == 0)
        return;
    text_append(text, "    %s {\n", name);
    switch (init->kind) {
    case INITIALISE_CONSTANT:
        text_append(text, "      type: \"constant\"\n      value: %.9g\n", (double)init->value);
        break;
    case INITIALISE_GAUSSIAN:
        text_append(text, "      type: \"gaussian\"\n      std: %.9g\n", (double)init->value);
        break;
    case INITIALISE_XAVIER:
        text_append(text, "      type: \"xavier\"\n");
        break;
    case INITIALISE_HE:
        text_append(text, "      type: \"msra\"\n");
        break;
    }
    text_append(text, "    }\n");
}

static bool export_conv(struct caffe_exporter *ex, const struct node *node)
{
    const struct conv_attributes *conv = &node->attributes.conv;
    const bool transposed = node->op == &op_conv_transpose;
    if (conv->int8_weights)
        return lacks(ex, node, N_("its weights are quantized"));
    struct caffe_written_layer *layer =
        begin_layer(ex, transposed ? "Deconvolution" : "Convolution", node->name,
                    &ex->tops[node->inputs[0]], 1);
    text_append(&ex->text, "  convolution_param {\n    num_output: %zu\n", conv->outputs);
    append_window(&ex->text, &conv->window);
    if (conv->dilation_height > 1 || conv->dilation_width > 1)
        text_append(&ex->text, "    dilation: %zu\n    dilation: %zu\n",
                    conv->dilation_height > 1 ? conv->dilation_height : 1,
                    conv->dilation_width > 1 ? conv->dilation_width : 1);
    if (conv->groups > 1)
        text_append(&ex->text, "    group: %zu\n", conv->groups);
    if (!conv->bias)
        text_append(&ex->text, "    bias_term: false\n");
    append_filler(&ex->text, "weight_filler", &conv->weight_init);
    if (conv->bias)
        append_filler(&ex->text, "bias_filler", &conv->bias_init);
    text_append(&ex->text, "  }\n");
    end_layer(ex);
    add_parameter(ex, layer, node, 0);
    if (conv->bias)
        add_parameter(ex, layer, node, 1);
    return true;
}

static bool export_linear(struct caffe_exporter *ex, const struct node *node)
{
    const struct linear_attributes *linear = &node->attributes.linear;
    if (linear->int8_weights)
        return lacks(ex, node, N_("its weights are quantized"));
    struct caffe_written_layer *layer =
        begin_layer(ex, "InnerProduct", node->name, &ex->tops[node->inputs[0]], 1);
    text_append(&ex->text, "  inner_product_param {\n    num_output: %zu\n", linear->outputs);
    if (!linear->bias)
        text_append(&ex->text, "    bias_term: false\n");
    append_filler(&ex->text, "weight_filler", &linear->weight_init);
    if (linear->bias)
        append_filler(&ex->text, "bias_filler", &linear->bias_init);
    text_append(&ex->text, "  }\n");
    end_layer(ex);
    add_parameter(ex, layer, node, 0);
    if (linear->bias)
        add_parameter(ex, layer, node, 1);
    return true;
}

/* Caffe rounds up; newer versions can round down, which is only asked for where it matters. */
static bool export_pool(struct caffe_exporter *ex, const struct node *node)
{
    const struct pool_attributes *pool = &node->attributes.pool;
    const struct shape in = ex->graph->nodes[node->inputs[0]].output;
    const bool up = caffe_outputs_agree(in, node->output, &pool->window, true);
    if (!pool->global && !up && !caffe_outputs_agree(in, node->output, &pool->window, false))
        return lacks(ex, node, N_("Caffe counts its windows in another way"));
    begin_layer(ex, "Pooling", node->name, &ex->tops[node->inputs[0]], 1);
    text_append(&ex->text, "  pooling_param {\n    pool: %s\n",
                node->op == &op_max_pool ? "MAX" : "AVE");
    if (pool->global)
        text_append(&ex->text, "    global_pooling: true\n");
    else
        append_window(&ex->text, &pool->window);
    if (!pool->global && !up)
        text_append(&ex->text, "    round_mode: FLOOR\n");
    text_append(&ex->text, "  }\n");
    end_layer(ex);
    return true;
}

/* --- batch norms --- */

/* Returns a name that no node has, NODE_suffix; NULL with an error. */
static const char *name_second(struct caffe_exporter *ex, const struct node *node,
                               const char *suffix)
{
    size_t unused;
    const size_t size = strlen(node->name) + strlen(suffix) + 2;
    char *name = caffe_tree_memory(&ex->memory, size);
    if (!name) {
        error_set_memory(ex->error, "the Caffe model", 0);
        return NULL;
    }
    snprintf(name, size, "%s_%s", node->name, suffix);
    if (!graph_find(ex->graph, name, &unused))
        return name;
    error_set(ex->error, ERROR_UNSUPPORTED, name, "give the layer another name",
              "%s becomes two layers in Caffe's file, and this is the second one's name",
              node->name);
    return NULL;
}

/* The statistics are Caffe's with the factor 1; weight and bias are the Scale that follows. */
static bool export_norm(struct caffe_exporter *ex, const struct node *node)
{
    static const float one = 1;
    static const size_t single = 1;
    const struct batch_norm_attributes *norm = &node->attributes.batch_norm;
    if (norm->instance)
        return lacks(ex, node, N_("it takes the statistics of each image"));
    const char *scale = name_second(ex, node, "scale");
    if (!scale)
        return false;
    struct caffe_written_layer *layer =
        begin_layer(ex, "BatchNorm", node->name, &ex->tops[node->inputs[0]], 1);
    text_append(&ex->text,
                "  batch_norm_param {\n    moving_average_fraction: %.9g\n    eps: %.9g\n  }\n",
                1 - (double)norm->momentum, (double)norm->epsilon);
    end_layer(ex);
    add_parameter(ex, layer, node, 2);
    add_parameter(ex, layer, node, 3);
    add_blob(ex, layer, &one, &single, 1);
    const char *bottom = node->name;
    layer = begin_layer(ex, "Scale", scale, &bottom, 1);
    text_append(&ex->text, "  scale_param {\n    bias_term: true\n  }\n");
    end_layer(ex);
    add_parameter(ex, layer, node, 0);
    add_parameter(ex, layer, node, 1);
    ex->tops[node - ex->graph->nodes] = scale;
    return true;
}

/* --- other layers --- */

static bool export_prelu(struct caffe_exporter *ex, const struct node *node)
{
    char text[160];
    snprintf(text, sizeof text,
             "  prelu_param {\n    filler {\n      type: \"constant\"\n      value: %.9g\n    }\n"
             "  }\n",
             (double)node->attributes.prelu.slope);
    add_parameter(ex, simple(ex, node, "PReLU", text), node, 0);
    return true;
}

static bool export_join(struct caffe_exporter *ex, const struct node *node)
{
    const char *bottoms[NODE_MAX_INPUTS];
    for (size_t i = 0; i < node->input_count; i++)
        bottoms[i] = ex->tops[node->inputs[i]];
    begin_layer(ex, node->op == &op_concat ? "Concat" : "Eltwise", node->name, bottoms,
                node->input_count);
    end_layer(ex);
    return true;
}

/* The factors lose their axes of size 1, so that Caffe multiplies by one for each channel. */
static bool export_gate(struct caffe_exporter *ex, const struct node *node)
{
    const char *flat = name_second(ex, node, "gate");
    if (!flat)
        return false;
    begin_layer(ex, "Flatten", flat, &ex->tops[node->inputs[1]], 1);
    end_layer(ex);
    const char *bottoms[2] = {ex->tops[node->inputs[0]], flat};
    begin_layer(ex, "Scale", node->name, bottoms, 2);
    text_append(&ex->text, "  scale_param {\n    axis: 0\n  }\n");
    end_layer(ex);
    return true;
}

/* Writes a layer whose operator is a row. */
static bool export_row(struct caffe_exporter *ex, const struct node *node)
{
    const struct mapping *row = caffe_rows;
    const struct dropout_attributes *dropout = &node->attributes.dropout;
    while (row->op && row->op != node->op)
        row++;
    if (!row->op)
        return lacks(ex, node, N_("no layer of it computes this"));
    if (node->op == &op_softmax && node->attributes.softmax.image && shape_area(node->output) > 1)
        return lacks(ex, node, N_("a softmax over the whole image"));
    if (node->op == &op_dropout && (dropout->always || dropout->channels))
        return lacks(ex, node, N_("it works in inference, or on whole channels"));
    begin_layer(ex, row->type, node->name, &ex->tops[node->inputs[0]], 1);
    if (row->group)
        text_append(&ex->text, "  %s {\n", row->group);
    for (const struct mapping_value *value = row->values; value->name; value++) {
        const void *from = (const char *)&node->attributes + value->offset;
        if (value->kind == MAPPING_COUNT)
            text_append(&ex->text, "    %s: %zu\n", value->name, *(const size_t *)from);
        else
            text_append(&ex->text, "    %s: %.9g\n", value->name, (double)*(const float *)from);
    }
    if (row->group)
        text_append(&ex->text, "  }\n");
    end_layer(ex);
    return true;
}

/* Writes a node as one or two layers. Returns false with an error if Caffe lacks it. */
static bool caffe_export_node(struct caffe_exporter *ex, size_t number)
{
    static const struct {
        const struct op *op;
        bool (*export)(struct caffe_exporter *ex, const struct node *node);
    } exports[] = {{&op_conv, export_conv},         {&op_conv_transpose, export_conv},
                   {&op_linear, export_linear},     {&op_max_pool, export_pool},
                   {&op_average_pool, export_pool}, {&op_batch_norm, export_norm},
                   {&op_prelu, export_prelu},       {&op_concat, export_join},
                   {&op_add, export_join},          {&op_channel_scale, export_gate}};
    const struct node *node = &ex->graph->nodes[number];
    ex->tops[number] = node->name;
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++)
        if (node->op == exports[i].op)
            return exports[i].export(ex, node);
    return export_row(ex, node);
}

/* --- the file --- */

#define MEMORY_LIMIT ((size_t)256 << 20)

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
    begin_layer(ex, "Softmax", "prob", &ex->tops[output], 1);
    end_layer(ex);
}

static bool write_files(struct caffe_exporter *ex, const char *path, const char *binary)
{
    if (ex->text.failed || ex->memory.failed)
        return error_set_memory(ex->error, "the Caffe model", 0);
    return (!binary || caffe_binary_write(ex->text.data, ex->text.length, ex->layers,
                                          ex->layer_count, binary, ex->error)) &&
           output_file_write(path, ex->text.data, ex->text.length, OUTPUT_TEXT, ex->error);
}

static bool export_network(const struct network *network, const struct weights *weights,
                           const char *path, const char *binary, struct error *error)
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

/* Writes a network, and its weights if `binary` is not NULL. */
static bool write_network(const struct network *network, const struct weights *weights,
                          const char *path, const char *binary, struct exchange_report *report,
                          struct error *error)
{
    if (!network || !export_network(network, weights, path, binary, error))
        return false;
    exchange_tell(&report->result, "%s\n", path);
    if (binary)
        exchange_tell(&report->result, "%s\n", binary);
    if (network->input.channels == 3 && !output_file_is_stdout(path))
        exchange_tell(&report->notes,
                      _("tinca: %s: the network expects the channels red, green, blue; Caffe's own "
                        "tools read blue, green, red\n"),
                      path);
    return true;
}

bool caffe_export_text(const struct model_export *export, const char *path,
                       struct exchange_report *report, struct error *error)
{
    struct model model = {0};
    const struct network_request named = {.network = export->network};
    if (export->model && !model_file_describe(&model, export->model, error))
        return false;
    struct network *network = export->model ? NULL : network_build(&named, error);
    const bool written =
        write_network(network ? network : model.network, NULL, path, NULL, report, error);
    network_free(network);
    model_free(&model);
    return written;
}

/* The weights lie beside the text. */
bool caffe_export_weights(const struct model_export *export, const char *path,
                          struct exchange_report *report, struct error *error)
{
    struct exporter_model exported;
    const size_t length = strlen(path);
    if (length < 10 || strcmp(path + length - 9, ".prototxt") != 0)
        return error_set(error, ERROR_USAGE, path, "give -o FILE.prototxt",
                         "the weights lie beside it, in FILE.caffemodel");
    char *binary = memory_new(length + 8, 1, "a path", error);
    if (!binary)
        return false;
    sprintf(binary, "%.*s.caffemodel", (int)(length - 9), path);
    const bool written =
        exporter_open(&exported, export, &(struct model_use){0}, error) &&
        write_network(exported.model.network, &exported.model.weights, path, binary, report, error);
    exporter_close(&exported);
    free(binary);
    return written;
}
