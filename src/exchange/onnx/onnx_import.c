/* Goes through the nodes of a file. A node whose inputs an operator that tinca lacks has computed
 * is passed over. What the file's metadata says of the network (its name, classes, normalisation,
 * how it was trained) goes with it. */
#include "exchange/onnx/internal.h"

#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "models/saved/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- what the file says of the network --- */

static const struct importer_words words = {
    .what = "the ONNX model",
    .advice = N_("export the model again"),
    .lacking = N_("tinca has no layer for %zu of its %zu nodes"),
    .change = N_("change the model where it was made, or leave those nodes out"),
    .node = "node",
    .type = "operator"};

static const char *metadata(const Onnx__Model *model, const char *key)
{
    for (size_t i = 0; i < model->n_metadata_props; i++)
        if (model->metadata_props[i]->key && strcmp(model->metadata_props[i]->key, key) == 0)
            return model->metadata_props[i]->value;
    return NULL;
}

/* --- the head of the network --- */

static void copy_text(const struct json *root, const char *key, char *to, size_t size)
{
    const char *text = json_string(json_member(root, key));
    if (text && text[0])
        snprintf(to, size, "%s", text);
}

/* Reads the head, and the name of the loss into loss[32]. network_build checks the rest. */
static bool read_head(struct onnx_importer *im, const Onnx__Model *model, struct network *network,
                      char *loss)
{
    struct json_document document = {0};
    const char *text = metadata(model, ONNX_NETWORK_KEY);
    importer_name_network(&im->base, "", network);
    snprintf(network->normalisation, sizeof network->normalisation, "unit");
    if (!text)
        return true;
    if (!json_parse(&document, text, strlen(text), im->base.path, im->base.error)) {
        im->base.failed = true;
        return false;
    }
    copy_text(document.root, "name", network->name, sizeof network->name);
    copy_text(document.root, "title", network->title, sizeof network->title);
    copy_text(document.root, "compression", network->compression, sizeof network->compression);
    copy_text(document.root, "normalise", network->normalisation, sizeof network->normalisation);
    copy_text(document.root, "loss", loss, 32);
    json_document_free(&document);
    return true;
}

/* --- what a model says of its images --- */

static bool read_triple(const char *text, float *values)
{
    return !text || (sscanf(text, "%f %f %f", &values[0], &values[1], &values[2]) == 3 &&
                     isfinite(values[0]) && isfinite(values[1]) && isfinite(values[2]));
}

/* Reads the preprocessing of a model that an earlier version of tinca has exported. */
static bool read_earlier(struct onnx_importer *im, const Onnx__Model *model,
                         struct preprocessing *p)
{
    struct normalisation *normalisation = &p->normalisation;
    const char *stored = metadata(model, "tinca.stored");
    p->recorded = p->stretched = false;
    p->filter = IMAGE_BILINEAR2;
    p->as_stored = p->luma = true;
    snprintf(normalisation->name, sizeof normalisation->name, "%s",
             metadata(model, "tinca.normalisation"));
    if (!read_triple(metadata(model, "tinca.mean"), normalisation->mean) ||
        !read_triple(metadata(model, "tinca.deviation"), normalisation->deviation))
        return onnx_damaged(im, "tinca.mean", N_("three numbers were expected"));
    if (stored && (sscanf(stored, "%zu %zu", &p->stored_height, &p->stored_width) != 2 ||
                   p->stored_height < p->height || p->stored_width < p->width ||
                   p->stored_height > IMAGE_MAX_SIDE || p->stored_width > IMAGE_MAX_SIDE))
        return onnx_damaged(im, "tinca.stored", N_("a height and a width were expected"));
    return true;
}

/* Reads how pictures are prepared: as the file says, or else resized to the input and divided by
 * 255. A normalisation that the user has chosen counts more. */
static bool read_images(struct onnx_importer *im, const Onnx__Model *model, struct model *origin)
{
    struct preprocessing *p = &origin->preprocessing;
    const char *text = metadata(model, MODEL_PREPROCESSING_KEY), *what;
    if (!normalisation_choose(&p->normalisation, "unit", NULL, im->base.error))
        return false;
    if (text && !preprocessing_parse(p, text, &what))
        return onnx_damaged(im, MODEL_PREPROCESSING_KEY, what);
    if (!text && metadata(model, "tinca.normalisation") && !read_earlier(im, model, p))
        return false;
    if (im->normalise[0] &&
        !normalisation_preset(&p->normalisation, im->normalise, p->recorded, im->base.error))
        return false;
    for (size_t c = 0; c < 3; c++)
        if (p->normalisation.deviation[c] == 0)
            return onnx_damaged(im, "tinca.deviation", N_("a deviation of 0"));
    return true;
}

static bool read_classes(struct onnx_importer *im, const Onnx__Model *model, struct model *origin)
{
    const char *text = metadata(model, "tinca.class_names");
    const size_t count = origin->network->classes;
    struct json_document document = {0};
    if (!importer_number_classes(origin, im->base.error) ||
        (text && !json_parse(&document, text, strlen(text), im->base.path, im->base.error)))
        return false;
    const struct json *name = json_first(document.root);
    for (size_t i = 0; name && i < count; i++, name = json_next(name))
        if (json_string(name))
            snprintf(origin->class_names[i], sizeof *origin->class_names, "%s", json_string(name));
    json_document_free(&document);
    return true;
}

static bool describe(struct importer *base, struct model *origin)
{
    struct onnx_importer *im = (struct onnx_importer *)base;
    const Onnx__Model *model = onnx_model_message(im->model);
    return read_images(im, model, origin) && read_classes(im, model, origin);
}

/* --- files --- */

/* Writes the values of a parameter. Returns false if the import has failed. */
static bool fill_parameter(struct importer *base, size_t from, const struct parameter *to,
                           float *values)
{
    struct onnx_importer *im = (struct onnx_importer *)base;
    const struct onnx_source *source = &im->sources[from];
    if (source->floats)
        memcpy(values, source->floats, to->count * sizeof *values);
    if (!source->stored)
        return true;
    if (!(source->transposed ? onnx_read_transposed : onnx_read_stored)(im, source->stored, values))
        return false;
    for (size_t i = 0; i < to->count && source->factor != 1; i++)
        values[i] *= source->factor;
    return true;
}

/* Writes the network that ends with `output` and its weights. Returns false with an error. */
static bool save(struct onnx_importer *im, const Onnx__Model *model, size_t output)
{
    char loss[32] = "";
    struct importer_end end = {.loss = loss,
                               .describe = describe,
                               .quantization = metadata(model, "tinca.quantization"),
                               .record = metadata(model, MODEL_RECORD_KEY),
                               .parent = metadata(model, "tinca.parent"),
                               /* in 16 bits only if that rounds nothing */
                               .format = im->half[0]   ? WEIGHTS_FLOAT32
                                         : im->half[1] ? WEIGHTS_BF16
                                         : im->half[2] ? WEIGHTS_FLOAT16
                                                       : WEIGHTS_FLOAT32};
    /* a network of tinca that has a softmax beside that of its loss is left as it is */
    if (!metadata(model, ONNX_NETWORK_KEY))
        im->base.softmax_left_out = graph_leave_out_softmax(&im->base.graph, &output);
    if (im->log_softmax && !im->base.softmax_left_out)
        return error_set(im->base.error, ERROR_UNSUPPORTED, im->base.path, words.change, "%s",
                         N_("a LogSoftmax that is not the end of a classifier"));
    end.output = output;
    return output > 0 && read_head(im, model, &end.head, loss) && importer_save(&im->base, &end);
}

/* --- the nodes --- */

#define BASE_BUDGET ((size_t)1 << 30)
enum { BUDGET_GROWTH = 16, MAX_SIDE = 65536 };

static bool import_graph(struct onnx_importer *im, const Onnx__Graph *graph);

/* --- one node --- */

/* Returns whether the node can be computed; a node with unknown inputs is dealt with. */
static bool check_inputs(struct onnx_importer *im, const Onnx__Node *node)
{
    const char *type = node->op_type;
    const bool own = !node->domain || !node->domain[0] || strcmp(node->domain, "ai.onnx") == 0;
    bool unknown = false;
    for (size_t k = 0; k < node->n_input && !im->base.failed; k++) {
        const struct onnx_value *value = onnx_input(im, node, k);
        if (value && value->kind == ONNX_UNDEFINED)
            return onnx_damaged(im, node->input[k],
                                N_("a node reads it before any node has computed it"));
        unknown |= value && value->kind == ONNX_UNKNOWN;
    }
    if (im->base.failed)
        return false;
    if (!own || (!onnx_is_layer(type) && !onnx_is_move(type) && !onnx_is_fold(type) &&
                 strcmp(type, "If") != 0))
        return onnx_lacks(im, node,
                          own ? N_("tinca has no such operator")
                              : N_("an operator that is not of ONNX itself"));
    for (size_t i = 0; unknown && i < node->n_output; i++) {
        struct onnx_value *value = onnx_find_value(im, node->output[i]);
        if (value)
            value->kind = ONNX_UNKNOWN;
    }
    return !unknown;
}

/* Computes the branch of a condition that is constant. */
static void import_if(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *condition = onnx_input(im, node, 0);
    if (!condition || condition->kind != ONNX_INTEGERS || condition->count != 1) {
        onnx_lacks(im, node, N_("a condition that depends on the image"));
        return;
    }
    const Onnx__Attribute *branch =
        onnx_attribute(node, condition->integers[0] ? "then_branch" : "else_branch");
    Onnx__Graph *graph = branch && branch->has_g && im->depth < ONNX_MAX_DEPTH
                             ? onnx_graph_read(im->model, &branch->g)
                             : NULL;
    if (!graph || graph->n_output < 1 || !graph->output[0]->name) {
        onnx_damaged(im, node->op_type, N_("the branch of a condition cannot be read"));
        return;
    }
    im->depth++;
    if (import_graph(im, graph)) {
        const struct onnx_value *from = onnx_find_value(im, graph->output[0]->name);
        struct onnx_value *out = onnx_output(im, node);
        if (from && out)
            onnx_set_alias(out, from);
    }
    im->depth--;
}

/* Returns whether a node reads input `k` as weights, or hands it on: it may stay in its file. */
static bool keeps_stored(const Onnx__Node *node, size_t k)
{
    static const char *const layers[] = {"Conv", "ConvTranspose", "Gemm", "MatMul", NULL};
    static const char *const others[] = {"DequantizeLinear", "Cast", "Identity", NULL};
    for (const char *const *type = k == 0 ? others : layers; *type && k < 2; type++)
        if (strcmp(*type, node->op_type) == 0)
            return true;
    return false;
}

/* Reads the arrays that the node computes with. Returns false if the import has failed. */
static bool load_inputs(struct onnx_importer *im, const Onnx__Node *node)
{
    const struct onnx_value *first = onnx_input(im, node, 0);
    const bool layer = first && first->kind == ONNX_LAYER;
    for (size_t k = 0; k < node->n_input && !im->base.failed; k++) {
        struct onnx_value *value = onnx_input(im, node, k);
        if (value && !(keeps_stored(node, k) && (layer || k == 0)) && !onnx_load(im, value))
            return false;
    }
    return !im->base.failed;
}

static void import_node(struct onnx_importer *im, const Onnx__Node *node)
{
    const char *why;
    if (!node->op_type) {
        onnx_damaged(im, "node", N_("it has no operator"));
        return;
    }
    if (!check_inputs(im, node) || !load_inputs(im, node))
        return;
    if (strcmp(node->op_type, "If") == 0) {
        import_if(im, node);
    } else if (onnx_fold(im, node)) {
        return;
    } else if (onnx_move(im, node)) {
        struct onnx_value *out = im->base.failed ? NULL : onnx_output(im, node);
        if (out && out->kind == ONNX_LAYER && out->integers && out->read_by_layer &&
            out->meaning == ONNX_PLAIN)
            onnx_settle(im, out, true, &why); /* in the place where the file has it */
    } else if (!onnx_import_layer(im, node) && !im->base.failed) {
        onnx_lacks(im, node, N_("tinca computes this operator of constants only"));
    }
}

/* --- a graph --- */

static bool add_initializers(struct onnx_importer *im, const Onnx__Graph *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        Onnx__Tensor *tensor = graph->initializer[i];
        if (!tensor->name || !tensor->name[0])
            return onnx_damaged(im, "initializer", N_("an array has no name"));
        struct onnx_value *value = onnx_find_value(im, tensor->name);
        if (!value)
            return false;
        value->kind = ONNX_STORED;
        value->tensor = tensor;
    }
    return true;
}

/* Counts which nodes read which values. */
static bool count_readers(struct onnx_importer *im, const Onnx__Graph *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__Node *node = graph->node[i];
        for (size_t k = 0; k < node->n_input; k++) {
            struct onnx_value *value = onnx_find_value(im, node->input[k]);
            if (!value)
                return false;
            value->readers++;
            value->read_by_layer |= node->op_type && !onnx_is_move(node->op_type);
        }
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        struct onnx_value *value =
            graph->output[i]->name ? onnx_find_value(im, graph->output[i]->name) : NULL;
        if (!value)
            return onnx_damaged(im, "output", N_("it has no name"));
        value->readers++;
        value->read_by_layer = true;
    }
    return true;
}

static bool import_graph(struct onnx_importer *im, const Onnx__Graph *graph)
{
    if (!add_initializers(im, graph) || !count_readers(im, graph))
        return false;
    for (size_t i = 0; i < graph->n_node && !im->base.failed; i++)
        import_node(im, graph->node[i]);
    return !im->base.failed;
}

/* --- inputs and outputs --- */

static bool read_input(struct onnx_importer *im, const Onnx__ValueInfo *info)
{
    const Onnx__TensorType *type = info->type ? info->type->tensor_type : NULL;
    const Onnx__Shape *shape = type ? type->shape : NULL;
    size_t dims[4] = {1, 1, 1, 1};
    if (!shape || (shape->n_dim != 4 && shape->n_dim != 2) ||
        (type->elem_type != ONNX_FLOAT && type->elem_type != ONNX_FLOAT16 &&
         type->elem_type != ONNX_BF16))
        return onnx_damaged(im, info->name,
                            N_("the input must be real numbers [batch, channels, height, width]"));
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__Dimension *dim = shape->dim[i];
        const int64_t size = dim->has_dim_value ? dim->dim_value : i == 0 ? 1 : 0;
        if (size < 1 || size > MAX_SIDE)
            return onnx_damaged(im, info->name,
                                N_("channels, height and width of the input must be fixed"));
        dims[i] = (size_t)size;
    }
    im->batch = dims[0];
    struct onnx_value *value = onnx_find_value(im, info->name);
    if (!value ||
        !graph_create(&im->base.graph, (struct shape){dims[1], dims[2], dims[3]}, im->base.error)) {
        im->base.failed = true;
        return false;
    }
    value->kind = ONNX_LAYER;
    value->direct = true;
    return onnx_set_shape(im, value, dims, shape->n_dim);
}

/* Reads the one input that is no constant. */
static bool read_inputs(struct onnx_importer *im, const Onnx__Graph *graph)
{
    const Onnx__ValueInfo *input = NULL;
    for (size_t i = 0; i < graph->n_input; i++) {
        if (!graph->input[i]->name)
            return onnx_damaged(im, "input", N_("it has no name"));
        const struct onnx_value *value = onnx_find_value(im, graph->input[i]->name);
        if (!value)
            return false;
        const bool constant = value->kind == ONNX_STORED;
        if (!constant && input)
            return onnx_damaged(im, graph->input[i]->name,
                                N_("a network of tinca has one input, and this is another"));
        if (!constant)
            input = graph->input[i];
    }
    return input ? read_input(im, input) : onnx_damaged(im, "input", N_("the model has none"));
}

/* --- the forecast --- */

/* Returns the bytes that the weights of a tensor take, or the values of other integers. */
static uint64_t tensor_bytes(const Onnx__Tensor *tensor)
{
    return (uint64_t)onnx_tensor_count(tensor) *
           (tensor->data_type == ONNX_INT64 ? sizeof(int64_t) : sizeof(float));
}

/* Returns the bytes that a node takes for arrays that it computes with, and for what it computes.
 */
static uint64_t node_bytes(struct onnx_importer *im, const Onnx__Node *node)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < node->n_input && node->op_type; k++) {
        const struct onnx_value *value = onnx_find_value(im, node->input[k]);
        if (value && value->kind == ONNX_STORED && !keeps_stored(node, k))
            bytes += 2 * tensor_bytes(value->tensor);
    }
    for (size_t i = 0; i < node->n_attribute; i++)
        bytes += node->attribute[i]->t ? tensor_bytes(node->attribute[i]->t) : 0;
    return bytes;
}

/* Checks that the weights, and the constants that nodes compute with, will fit into memory. */
static bool check_room(struct onnx_importer *im, const Onnx__Graph *graph)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        bytes += tensor_bytes(graph->initializer[i]);
    for (size_t i = 0; i < graph->n_node; i++)
        bytes += node_bytes(im, graph->node[i]);
    if (!im->base.failed && memory_room_check(im->base.path, bytes, im->base.error))
        return true;
    im->base.failed = true;
    return false;
}

/* --- the output --- */

/* Returns the node of the first output; 0 if that is not the output of a layer. */
static size_t find_output(struct onnx_importer *im, const Onnx__Graph *graph)
{
    const char *why;
    struct onnx_value *value = onnx_find_value(im, graph->output[0]->name);
    if (!value || value->kind == ONNX_UNKNOWN)
        return 0;
    im->base.left_out = graph->n_output - 1;
    if (value->kind != ONNX_LAYER || !onnx_settle(im, value, false, &why) || value->node == 0) {
        onnx_damaged(im, graph->output[0]->name,
                     N_("the model's output is not the output of a layer"));
        return 0;
    }
    return value->node;
}

/* --- the import --- */

static bool import_model(struct onnx_importer *im)
{
    const Onnx__Model *model = onnx_model_message(im->model);
    const Onnx__Graph *graph = model->graph;
    im->opset = 1;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSet *set = model->opset_import[i];
        if (!set->domain || !set->domain[0] || strcmp(set->domain, "ai.onnx") == 0)
            im->opset = set->version;
    }
    if (!graph || graph->n_output < 1)
        return onnx_damaged(im, "model", N_("it has no graph, or no output"));
    if (!add_initializers(im, graph) || !check_room(im, graph) || !read_inputs(im, graph) ||
        !import_graph(im, graph))
        return false;
    const size_t output = find_output(im, graph);
    if (im->base.failed)
        return false;
    return importer_is_complete(&im->base, graph->n_node) && save(im, model, output);
}

/* Returns the folder of a file, which the caller frees. */
static char *folder_of(const char *path, struct error *error)
{
    const char *slash = strrchr(path, '/');
    char *folder = memory_copy_text(slash ? path : ".", error);
    if (folder && slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

static void release(struct onnx_importer *im)
{
    onnx_model_free(im->model);
    onnx_builder_free(&im->memory);
    name_index_free(&im->names);
    importer_free(&im->base);
    free(im->values);
    free(im->sources);
}

bool onnx_import(const struct model_import *import, struct exchange_report *report,
                 struct error *error)
{
    struct onnx_importer im = {
        .base = {.words = &words, .fill = fill_parameter, .path = import->paths[0], .error = error},
        .normalise = import->normalise};
    struct stat status;
    char *folder = folder_of(im.base.path, error);
    im.folder = folder;
    im.model = folder && importer_name_files(&im.base, import->output, true)
                   ? onnx_model_read(im.base.path, error)
                   : NULL;
    im.budget = BASE_BUDGET;
    if (stat(im.base.path, &status) == 0)
        im.budget += (size_t)status.st_size * BUDGET_GROWTH;
    const bool imported = im.model && import_model(&im);
    importer_report(&im.base, imported, report);
    release(&im);
    free(folder);
    return imported;
}
