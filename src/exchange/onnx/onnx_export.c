/* The graph becomes nodes of ONNX in the same order. The value of a layer has its name; if it lies
 * on a grid, the layer computes LAYER/value, which is rounded to LAYER. */
#include "exchange/onnx/onnx.h"

#include "base/files/output_file.h"
#include "base/memory.h"
#include "base/protobuf/message_memory.h"
#include "config.h"
#include "engine/graph/name_index.h"
#include "engine/network/network_write.h"
#include "engine/ops/op.h"
#include "engine/quantize/fold_batch_norm.h"
#include "exchange/onnx/internal.h"
#include "models/saved/model_file.h"

#include <stdlib.h>
#include <string.h>

/* --- onnx export layers --- */

/* One function for each operator, in a table. A value of a network is always an image, which can
 * have one position; ONNX distinguishes [batch, channels] from [batch, channels, 1, 1]. A layer
 * that needs the other one gets it by a Flatten or Reshape of its own, called LAYER/... */

/* Returns the node's input `k` as an image. */
static const char *image_of(struct onnx_exporter *exporter, const struct node *node, size_t k)
{
    struct onnx_builder *out = &exporter->out;
    const size_t input = node->inputs[k];
    const char *value = onnx_value_of(exporter, input);
    const int64_t dims[4] = {0, (int64_t)exporter->graph->nodes[input].output.channels, 1, 1};
    if (!exporter->flat[input])
        return value;
    const char *name = onnx_text(out, "%s/image%zu", node->name, k);
    const char *shape = onnx_add_integers(out, onnx_text(out, "%s/shape", name), dims, 4);
    onnx_add_node(out, "Reshape", name, name, 2, value, shape);
    return name;
}

/* Returns the node's input as a vector. */
static const char *vector_of(struct onnx_exporter *exporter, const struct node *node)
{
    struct onnx_builder *out = &exporter->out;
    const char *value = onnx_value_of(exporter, node->inputs[0]);
    if (exporter->flat[node->inputs[0]])
        return value;
    const char *name = onnx_text(out, "%s/flatten", node->name);
    onnx_set_int(out, onnx_add_node(out, "Flatten", name, name, 1, value), "axis", 1);
    return name;
}

/* Writes the values of all inputs into names[]; images unless all are vectors. */
static void inputs_of(struct onnx_exporter *exporter, const struct node *node, const char **names)
{
    bool flat = true;
    for (size_t k = 0; k < node->input_count; k++)
        flat &= exporter->flat[node->inputs[k]];
    for (size_t k = 0; k < node->input_count; k++)
        names[k] = flat ? onnx_value_of(exporter, node->inputs[k]) : image_of(exporter, node, k);
}

/* --- layers with weights --- */

static void export_conv(struct onnx_exporter *exporter, const struct node *node, const char *output)
{
    onnx_export_conv(exporter, node, image_of(exporter, node, 0), output);
}

static void export_linear(struct onnx_exporter *exporter, const struct node *node,
                          const char *output)
{
    const bool bias = node->attributes.linear.bias;
    const char *inputs[3] = {vector_of(exporter, node), onnx_export_parameter(exporter, node, 0),
                             bias ? onnx_export_parameter(exporter, node, 1) : NULL};
    Onnx__Node *to =
        onnx_add_node_of(&exporter->out, "Gemm", node->name, output, inputs, bias ? 3 : 2);
    onnx_set_int(&exporter->out, to, "transB", 1);
}

static void export_batch_norm(struct onnx_exporter *exporter, const struct node *node,
                              const char *output)
{
    const struct batch_norm_attributes *norm = &node->attributes.batch_norm;
    const char *inputs[5] = {norm->instance ? image_of(exporter, node, 0)
                                            : onnx_value_of(exporter, node->inputs[0])};
    const size_t parameters = norm->instance ? 2 : 4;
    for (size_t p = 0; p < parameters; p++)
        inputs[p + 1] = onnx_export_parameter(exporter, node, p);
    Onnx__Node *to = onnx_add_node_of(
        &exporter->out, norm->instance ? "InstanceNormalization" : "BatchNormalization", node->name,
        output, inputs, parameters + 1);
    onnx_set_float(&exporter->out, to, "epsilon", norm->epsilon);
    if (!norm->instance) /* of ONNX it is the share of the running statistics that stays */
        onnx_set_float(&exporter->out, to, "momentum", 1 - norm->momentum);
}

static void export_prelu(struct onnx_exporter *exporter, const struct node *node,
                         const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const char *slope = onnx_export_parameter(exporter, node, 0);
    if (!exporter->flat[node->inputs[0]]) {
        const int64_t dims[3] = {-1, 1, 1};
        const char *name = onnx_text(out, "%s/slope", node->name);
        const char *shape = onnx_add_integers(out, onnx_text(out, "%s/shape", name), dims, 3);
        onnx_add_node(out, "Reshape", name, name, 2, slope, shape);
        slope = name;
    }
    onnx_add_node(out, "PRelu", node->name, output, 2, onnx_value_of(exporter, node->inputs[0]),
                  slope);
}

/* --- activations --- */

static Onnx__Node *export_simple(struct onnx_exporter *exporter, const struct node *node,
                                 const char *output)
{
    static const struct {
        const struct op *op;
        const char *type;
    } types[] = {{&op_relu, "Relu"},
                 {&op_sigmoid, "Sigmoid"},
                 {&op_tanh, "Tanh"},
                 {&op_hardswish, "HardSwish"},
                 {&op_gelu, "Gelu"},
                 {&op_leaky_relu, "LeakyRelu"},
                 {&op_elu, "Elu"},
                 {&op_softmax, "Softmax"},
                 {&op_hardsigmoid, "HardSigmoid"}};
    const char *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].op == node->op)
            type = types[i].type;
    return onnx_add_node(&exporter->out, type, node->name, output, 1,
                         onnx_value_of(exporter, node->inputs[0]));
}

static void export_activation(struct onnx_exporter *exporter, const struct node *node,
                              const char *output)
{
    export_simple(exporter, node, output);
    if (node->op == &op_gelu)
        exporter->opset = ONNX_OPSET_GELU;
}

static void export_leaky(struct onnx_exporter *exporter, const struct node *node,
                         const char *output)
{
    const float alpha =
        node->op == &op_elu ? node->attributes.elu.alpha : node->attributes.leaky_relu.slope;
    onnx_set_float(&exporter->out, export_simple(exporter, node, output), "alpha", alpha);
}

static void export_hardsigmoid(struct onnx_exporter *exporter, const struct node *node,
                               const char *output)
{
    Onnx__Node *to = export_simple(exporter, node, output);
    onnx_set_float(&exporter->out, to, "alpha", 1.0f / 6);
    onnx_set_float(&exporter->out, to, "beta", 0.5f);
}

/* One softmax over an image: its values are moved to one axis and back. */
static void export_image_softmax(struct onnx_exporter *exporter, const struct node *node,
                                 const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const struct shape shape = node->output;
    const int64_t row[4] = {0, 1, 1, (int64_t)shape_count(shape)};
    const int64_t image[4] = {0, (int64_t)shape.channels, (int64_t)shape.height,
                              (int64_t)shape.width};
    const char *moved = onnx_text(out, "%s/row", node->name);
    const char *made = onnx_text(out, "%s/softmax", node->name);
    onnx_add_node(out, "Reshape", moved, moved, 2, onnx_value_of(exporter, node->inputs[0]),
                  onnx_add_integers(out, onnx_text(out, "%s/shape", moved), row, 4));
    onnx_set_int(out, onnx_add_node(out, "Softmax", node->name, made, 1, moved), "axis", 3);
    onnx_add_node(out, "Reshape", output, output, 2, made,
                  onnx_add_integers(out, onnx_text(out, "%s/shape", made), image, 4));
}

static void export_softmax(struct onnx_exporter *exporter, const struct node *node,
                           const char *output)
{
    if (node->attributes.softmax.image && shape_area(node->output) > 1) {
        export_image_softmax(exporter, node, output);
        return;
    }
    onnx_set_int(&exporter->out, export_simple(exporter, node, output), "axis", 1);
}

static void export_silu(struct onnx_exporter *exporter, const struct node *node, const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const char *input = onnx_value_of(exporter, node->inputs[0]);
    const char *gate = onnx_text(out, "%s/sigmoid", node->name);
    onnx_add_node(out, "Sigmoid", gate, gate, 1, input);
    onnx_add_node(out, "Mul", node->name, output, 2, input, gate);
}

/* --- pooling, moves, sums --- */

static void export_pool(struct onnx_exporter *exporter, const struct node *node, const char *output)
{
    onnx_export_pool(exporter, node, exporter->graph->nodes[node->inputs[0]].output,
                     image_of(exporter, node, 0), output);
}

static void export_lrn(struct onnx_exporter *exporter, const struct node *node, const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const struct lrn_attributes *lrn = &node->attributes.lrn;
    Onnx__Node *to = onnx_add_node(out, "LRN", node->name, output, 1, image_of(exporter, node, 0));
    onnx_set_float(out, to, "alpha", lrn->alpha);
    onnx_set_float(out, to, "beta", lrn->beta);
    onnx_set_float(out, to, "bias", lrn->k);
    onnx_set_int(out, to, "size", (int64_t)lrn->size);
}

static void export_dropout(struct onnx_exporter *exporter, const struct node *node,
                           const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const char *ratio =
        onnx_add_number(out, onnx_text(out, "%s/ratio", node->name), node->attributes.dropout.rate);
    onnx_add_node(out, "Dropout", node->name, output, 2, onnx_value_of(exporter, node->inputs[0]),
                  ratio);
    exporter->noise_left_out |= node->attributes.dropout.always;
}

static void export_concat(struct onnx_exporter *exporter, const struct node *node,
                          const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(exporter, node, names);
    onnx_set_int(
        &exporter->out,
        onnx_add_node_of(&exporter->out, "Concat", node->name, output, names, node->input_count),
        "axis", 1);
}

static void export_add(struct onnx_exporter *exporter, const struct node *node, const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(exporter, node, names);
    onnx_add_node_of(&exporter->out, node->input_count == 2 ? "Add" : "Sum", node->name, output,
                     names, node->input_count);
}

static void export_channel_scale(struct onnx_exporter *exporter, const struct node *node,
                                 const char *output)
{
    const char *names[NODE_MAX_INPUTS];
    inputs_of(exporter, node, names);
    onnx_add_node_of(&exporter->out, "Mul", node->name, output, names, 2);
}

static void export_flatten(struct onnx_exporter *exporter, const struct node *node,
                           const char *output)
{
    onnx_set_int(&exporter->out,
                 onnx_add_node(&exporter->out, "Flatten", node->name, output, 1,
                               onnx_value_of(exporter, node->inputs[0])),
                 "axis", 1);
}

static void export_shift(struct onnx_exporter *exporter, const struct node *node,
                         const char *output)
{
    onnx_export_shift(exporter, node, image_of(exporter, node, 0), output);
}

/* A table [groups, channels / groups] is transposed. */
static void export_shuffle(struct onnx_exporter *exporter, const struct node *node,
                           const char *output)
{
    struct onnx_builder *out = &exporter->out;
    const int64_t groups = (int64_t)node->attributes.shuffle.groups;
    const int64_t channels = (int64_t)node->output.channels;
    const int64_t high = (int64_t)node->output.height, wide = (int64_t)node->output.width;
    const char *table = onnx_text(out, "%s/table", node->name);
    const char *turned = onnx_text(out, "%s/transpose", node->name);
    const char *shape =
        onnx_add_integers(out, onnx_text(out, "%s/table_shape", node->name),
                          (const int64_t[]){0, groups, channels / groups, high, wide}, 5);
    const char *last = onnx_add_integers(out, onnx_text(out, "%s/shape", node->name),
                                         (const int64_t[]){0, channels, high, wide}, 4);
    onnx_add_node(out, "Reshape", table, table, 2, image_of(exporter, node, 0), shape);
    onnx_set_ints(out, onnx_add_node(out, "Transpose", turned, turned, 1, table), "perm",
                  (const int64_t[]){0, 2, 1, 3, 4}, 5);
    onnx_add_node(out, "Reshape", node->name, output, 2, turned, last);
}

static void export_fake_quantize(struct onnx_exporter *exporter, const struct node *node,
                                 const char *output)
{
    onnx_export_rounding(exporter, node->name, onnx_value_of(exporter, node->inputs[0]), output,
                         node->attributes.fake_quantize, "fake_quantize");
}

/* --- the table --- */

enum form { FORM_AS_INPUTS, FORM_VECTOR, FORM_IMAGE };

static const struct {
    const struct op *op;
    enum form form; /* of the output; as inputs: a vector if all of them are */
    void (*export)(struct onnx_exporter *exporter, const struct node *node, const char *output);
} layers[] = {
    {&op_conv, FORM_IMAGE, export_conv},
    {&op_conv_transpose, FORM_IMAGE, export_conv},
    {&op_linear, FORM_VECTOR, export_linear},
    {&op_max_pool, FORM_IMAGE, export_pool},
    {&op_average_pool, FORM_IMAGE, export_pool},
    {&op_relu, FORM_AS_INPUTS, export_activation},
    {&op_leaky_relu, FORM_AS_INPUTS, export_leaky},
    {&op_prelu, FORM_AS_INPUTS, export_prelu},
    {&op_elu, FORM_AS_INPUTS, export_leaky},
    {&op_gelu, FORM_AS_INPUTS, export_activation},
    {&op_silu, FORM_AS_INPUTS, export_silu},
    {&op_hardswish, FORM_AS_INPUTS, export_activation},
    {&op_sigmoid, FORM_AS_INPUTS, export_activation},
    {&op_hardsigmoid, FORM_AS_INPUTS, export_hardsigmoid},
    {&op_tanh, FORM_AS_INPUTS, export_activation},
    {&op_softmax, FORM_AS_INPUTS, export_softmax},
    {&op_batch_norm, FORM_AS_INPUTS, export_batch_norm},
    {&op_lrn, FORM_IMAGE, export_lrn},
    {&op_dropout, FORM_AS_INPUTS, export_dropout},
    {&op_concat, FORM_AS_INPUTS, export_concat},
    {&op_add, FORM_AS_INPUTS, export_add},
    {&op_flatten, FORM_VECTOR, export_flatten},
    {&op_channel_shuffle, FORM_IMAGE, export_shuffle},
    {&op_channel_shift, FORM_IMAGE, export_shift},
    {&op_channel_scale, FORM_AS_INPUTS, export_channel_scale},
    {&op_fake_quantize, FORM_AS_INPUTS, export_fake_quantize},
};

static bool is_flat(const struct onnx_exporter *exporter, const struct node *node, enum form form)
{
    bool flat = form != FORM_IMAGE;
    if (node->op == &op_batch_norm && node->attributes.batch_norm.instance)
        return false; /* it reads an image */
    for (size_t k = 0; form == FORM_AS_INPUTS && k < node->input_count; k++)
        flat &= exporter->flat[node->inputs[k]];
    return flat;
}

/* Appends what computes a node, whose inputs have been appended, as the value `output`. */
static void onnx_export_layer(struct onnx_exporter *exporter, size_t number, const char *output)
{
    const struct node *node = &exporter->graph->nodes[number];
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (layers[i].op == node->op) {
            exporter->flat[number] = is_flat(exporter, node, layers[i].form);
            layers[i].export(exporter, node, output);
        }
}

/* --- the file --- */

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
