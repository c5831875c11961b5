/* The graph becomes nodes of ONNX in the same order. The value of a layer has its name; if it lies
 * on a grid, the layer computes LAYER/value, which is rounded to LAYER. */
#include "session/onnx/onnx.h"

#include "base/files/output_file.h"
#include "base/memory.h"
#include "engine/graph/name_index.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "session/model/model_file.h"
#include "session/onnx/onnx_exporter.h"
#include "session/protobuf/message_memory.h"

#include "config.h"

#include <stdlib.h>
#include <string.h>

const char *onnx_value_of(struct onnx_exporter *exporter, size_t number)
{
    const struct node *node = &exporter->graph->nodes[number];
    return number == 0 && quantization_is_set(node->quantization) ? "input/rounded" : node->name;
}

/* --- the graph --- */

static void export_node(struct onnx_exporter *exporter, size_t number)
{
    const struct node *node = &exporter->graph->nodes[number];
    const bool rounded = quantization_is_set(node->quantization);
    const char *value = node->name;
    if (rounded && number > 0)
        value = onnx_text(&exporter->out, "%s/value", node->name);
    if (number > 0)
        onnx_export_layer(exporter, number, value);
    if (rounded)
        onnx_export_rounding(exporter, node->name, value, onnx_value_of(exporter, number),
                             node->quantization, "quantize");
}

static const char *name_at(const void *names, size_t number)
{
    return ((const char *const *)names)[number];
}

/* Checks that no two values have one name: layers may be called like the values that are added to
 * them. */
static bool check_names(const struct onnx_builder *out, struct error *error)
{
    const size_t most = out->node_count + out->initializer_count + 1;
    const char **names = memory_new(most, sizeof *names, "the ONNX model", error);
    struct name_index index = {0};
    bool checked = names;
    for (size_t i = 0, other; checked && i + 1 < most; i++) {
        names[i] = i < out->node_count ? out->nodes[i]->output[0]
                                       : out->initializers[i - out->node_count]->name;
        if (name_index_find(&index, names, name_at, names[i], &other))
            checked = error_set(error, ERROR_INPUT, names[i],
                                "give the layer another name in the network file",
                                "two values of the ONNX model would have this name");
        checked = checked && name_index_add(&index, names[i], i, error);
    }
    name_index_free(&index);
    free(names);
    return checked;
}

/* Returns the name of the output. Classes are a vector, also of a network that ends with a pooling.
 */
static const char *export_output(struct onnx_exporter *exporter)
{
    struct onnx_builder *out = &exporter->out;
    const size_t last = exporter->graph->output;
    const char *value = onnx_value_of(exporter, last);
    if (exporter->flat[last] || shape_area(exporter->graph->nodes[last].output) > 1)
        return value;
    const char *name = onnx_text(out, "%s/flatten", exporter->graph->nodes[last].name);
    onnx_set_int(out, onnx_add_node(out, "Flatten", name, name, 1, value), "axis", 1);
    exporter->flat[last] = true;
    return name;
}

static Onnx__ValueInfo *describe(struct onnx_exporter *exporter, size_t number, const char *name)
{
    const struct shape shape = exporter->graph->nodes[number].output;
    const size_t dims[3] = {shape.channels, shape.height, shape.width};
    return onnx_describe_value(&exporter->out, name, dims, exporter->flat[number] ? 1 : 3);
}

/* --- the model --- */

/* Adds the head of the network file. */
static bool add_head(struct onnx_exporter *exporter, const struct network *network,
                     struct error *error)
{
    struct json *root = network_to_json(network);
    char *text = NULL;
    if (!root)
        return error_set_memory(error, "the network file", 0);
    json_remove(root, "layers");
    json_remove(root, "discriminator");
    json_remove(root, "input");
    json_remove(root, "input_quantized");
    text = json_print(root, false, error);
    json_free(root);
    if (text)
        onnx_add_metadata(&exporter->out, ONNX_NETWORK_KEY, onnx_text(&exporter->out, "%s", text));
    free(text);
    return text;
}

static bool add_metadata(struct onnx_exporter *exporter, const struct network *network,
                         const struct safetensors *file, const char *record, struct error *error)
{
    static const char *const keys[] = {
        MODEL_PREPROCESSING_KEY, "tinca.normalisation", "tinca.mean",         "tinca.deviation",
        "tinca.stored",          "tinca.class_names",   "tinca.quantization", "tinca.parent"};
    if (!add_head(exporter, network, error))
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        onnx_add_metadata(&exporter->out, keys[i], safetensors_metadata(file, keys[i]));
    onnx_add_metadata(&exporter->out, MODEL_RECORD_KEY,
                      record ? record : safetensors_metadata(file, MODEL_RECORD_KEY));
    return true;
}

static bool write_model(const Onnx__Model *model, const char *path, struct error *error)
{
    struct output_file output;
    struct message_stream buffer = {.base = {.append = message_stream_append}};
    if (onnx__model__get_packed_size(model) > INT32_MAX)
        return error_set(error, ERROR_UNSUPPORTED, path, "add --save-precision bf16",
                         "the model has more than 2 GiB, which an ONNX file cannot have");
    if (!output_file_open(&output, path, OUTPUT_BINARY, error))
        return false;
    buffer.stream = output.stream;
    onnx__model__pack_to_buffer(model, &buffer.base);
    return output_file_commit(&output, error);
}

/* Packs the nodes as a model and writes it. */
static bool write_graph(struct onnx_exporter *exporter, const char *name, const char *path,
                        struct error *error)
{
    struct onnx_builder *out = &exporter->out;
    Onnx__Graph graph = ONNX__GRAPH__INIT;
    Onnx__Model model = ONNX__MODEL__INIT;
    Onnx__OperatorSet set = ONNX__OPERATOR_SET__INIT, *sets[] = {&set};
    const char *last = export_output(exporter);
    Onnx__ValueInfo *input = describe(exporter, 0, exporter->graph->nodes[0].name);
    Onnx__ValueInfo *output = describe(exporter, exporter->graph->output, last);
    if (out->failed)
        return error_set_memory(error, "the ONNX model", 0);
    graph.name = (char *)name;
    graph.node = out->nodes;
    graph.n_node = out->node_count;
    graph.initializer = out->initializers;
    graph.n_initializer = out->initializer_count;
    graph.input = &input;
    graph.n_input = 1;
    graph.output = &output;
    graph.n_output = 1;
    set.domain = "";
    set.has_version = true;
    set.version = exporter->opset;
    model.has_ir_version = true;
    model.ir_version = exporter->opset == ONNX_OPSET ? 8 : 9;
    model.producer_name = "tinca";
    model.producer_version = PACKAGE_VERSION;
    model.graph = &graph;
    model.opset_import = sets;
    model.n_opset_import = 1;
    model.metadata_props = out->metadata;
    model.n_metadata_props = out->metadata_count;
    return check_names(out, error) && write_model(&model, path, error);
}

/* --- the export --- */

static bool export_graph(struct onnx_exporter *exporter, const struct network *network,
                         struct error *error)
{
    const size_t nodes = network->graph.node_count;
    exporter->graph = &network->graph;
    exporter->opset = ONNX_OPSET;
    exporter->wanted = memory_new(nodes, sizeof *exporter->wanted, "the network", error);
    exporter->flat = memory_new(nodes, sizeof *exporter->flat, "the network", error);
    if (!exporter->wanted || !exporter->flat)
        return false;
    graph_mark_ancestors(exporter->graph, exporter->graph->output, exporter->wanted);
    for (size_t i = 0; i < nodes; i++)
        if (exporter->wanted[i])
            export_node(exporter, i);
    return true;
}

/* Makes batch norms part of other layers, in place. */
static bool fold(struct model *model, struct error *error)
{
    struct weights folded;
    struct network *network = fold_batch_norm(model->network, &model->weights, &folded, error);
    if (!network)
        return false;
    weights_free(&model->weights);
    network_free(model->network);
    model->network = network;
    model->weights = folded;
    model->weights.graph = &network->graph;
    return true;
}

static bool export_model(const struct onnx_export_request *request, struct model *model,
                         const struct safetensors *file, const char *path,
                         struct onnx_export_result *result, struct error *error)
{
    struct onnx_exporter exporter = {.weights = &model->weights,
                                     .format = request->format_given ? request->format
                                                                     : weights_format_of(file),
                                     .signed_weights = request->signed_weights};
    char name[NETWORK_SHORT_NAME + 64];
    network_full_name(model->network, name, sizeof name);
    const bool done = export_graph(&exporter, model->network, error) &&
                      add_metadata(&exporter, model->network, file, request->record, error) &&
                      write_graph(&exporter, name, path, error);
    *result = (struct onnx_export_result){exporter.out.node_count, exporter.opset,
                                          exporter.noise_left_out};
    onnx_builder_free(&exporter.out);
    free(exporter.wanted);
    free(exporter.flat);
    return done;
}

/* Returns the bytes of weights that are written in fewer bits than 32. */
static uint64_t bytes_of_rounded(const struct network *network, const void *rounds)
{
    return *(const bool *)rounds || graph_is_quantized(&network->graph)
               ? network->graph.total_floats * sizeof(uint16_t)
               : 0;
}

bool onnx_export(const struct onnx_export_request *request, const char *path,
                 struct onnx_export_result *result, struct error *error)
{
    struct model model = {0};
    struct safetensors file;
    *result = (struct onnx_export_result){0};
    if (!output_file_check(path, OUTPUT_BINARY, error) ||
        !safetensors_open(&file, request->model, error))
        return false;
    const bool rounds =
        (request->format_given ? request->format : weights_format_of(&file)) != WEIGHTS_FLOAT32;
    /* output_file.h collects what goes to a stream */
    const struct model_use use = {.copies = (size_t)request->fold + output_file_is_stream(path),
                                  .more = bytes_of_rounded,
                                  .context = &rounds};
    const bool done = model_file_describe(&model, request->model, error) &&
                      model_check_memory(model.network, &use, request->model, error) &&
                      weights_create(&model.weights, &model.network->graph, error) &&
                      weights_load(&model.weights, request->model, error) &&
                      (!request->fold || fold(&model, error)) &&
                      export_model(request, &model, &file, path, result, error);
    safetensors_close(&file);
    model_free(&model);
    return done;
}
