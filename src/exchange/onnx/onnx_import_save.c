/* The nodes that the output needs become a network file; what the file's metadata says of it (its
 * name, classes, normalisation, how it was trained) goes with it. */
#include "exchange/onnx/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/network/network_write.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "engine/quantize/graph_copy.h"
#include "models/saved/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *metadata(const Onnx__Model *model, const char *key)
{
    for (size_t i = 0; i < model->n_metadata_props; i++)
        if (model->metadata_props[i]->key && strcmp(model->metadata_props[i]->key, key) == 0)
            return model->metadata_props[i]->value;
    return NULL;
}

/* --- the head of the network --- */

/* Sets the name to that of the file, without its ending. */
static void name_after_file(const char *path, struct network *network)
{
    const char *base = file_base_name(path), *end = strrchr(base, '.');
    const size_t length = end && end != base ? (size_t)(end - base) : strlen(base);
    snprintf(network->name, sizeof network->name, "%.*s",
             (int)(length < NETWORK_NAME - 1 ? length : NETWORK_NAME - 1), base);
    for (char *c = network->name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *c))
            *c = '_';
    snprintf(network->title, sizeof network->title, "%s", network->name);
}

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
    name_after_file(im->path, network);
    snprintf(network->normalisation, sizeof network->normalisation, "unit");
    if (!text)
        return true;
    if (!json_parse(&document, text, strlen(text), im->path, im->error)) {
        im->failed = true;
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

/* Appends the loss of training after node `output`. */
static bool add_loss(struct onnx_importer *im, size_t output, const char *name)
{
    const struct shape shape = im->graph.nodes[output].output;
    const struct op *kept = name[0] ? NULL : graph_probabilities(&im->graph, output);
    const bool classes = shape_area(shape) == 1 && !kept;
    const struct op *op = name[0]   ? op_find(name)
                          : classes ? &op_softmax_cross_entropy
                                    : &op_l2_loss;
    const union attributes attributes = {.loss = {.weight = 1}};
    size_t inputs[2] = {output}, added;
    im->result->kept = kept ? kept->name : NULL;
    im->result->picture = !classes && !kept && !name[0];
    if (!op || !(op->traits & OP_LOSS))
        return onnx_damaged(im, ONNX_NETWORK_KEY, N_("there is no such loss"));
    const bool labels = op->traits & OP_READS_LABELS;
    if (!labels && !graph_add_input(&im->graph, "target", shape, &inputs[1], im->error))
        return false;
    return graph_add(&im->graph, op, "loss", inputs, labels ? 1 : 2, &attributes, &added,
                     im->error) &&
           graph_finish(&im->graph, im->error);
}

/* Returns the network of the nodes that the output needs; NULL with an error. */
static struct network *make_network(struct onnx_importer *im, const struct network *head)
{
    struct graph_copy copy;
    struct network *network = NULL;
    bool copied = graph_copy_begin(&copy, &im->graph, im->error);
    for (size_t i = 1; copied && i < im->graph.node_count; i++)
        copied = !copy.wanted[i] || graph_copy_add(&copy, i, NULL, im->error);
    if (copied && graph_copy_finish(&copy, im->error))
        network = graph_copy_network(&copy, head, NULL, im->error);
    graph_copy_free(&copy);
    return network;
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
static bool read_images(struct onnx_importer *im, const Onnx__Model *model,
                        const struct onnx_import_request *request, struct model *origin)
{
    struct preprocessing *p = &origin->preprocessing;
    const char *text = metadata(model, MODEL_PREPROCESSING_KEY), *what;
    *p = model_preprocessing(origin->network);
    if (!normalisation_choose(&p->normalisation, "unit", NULL, im->error))
        return false;
    if (text && !preprocessing_parse(p, text, &what))
        return onnx_damaged(im, MODEL_PREPROCESSING_KEY, what);
    if (!text && metadata(model, "tinca.normalisation") && !read_earlier(im, model, p))
        return false;
    if (request->normalise[0] &&
        !normalisation_preset(&p->normalisation, request->normalise, p->recorded, im->error))
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
    origin->class_names = memory_new(count, sizeof *origin->class_names, "class names", im->error);
    if (!origin->class_names ||
        (text && !json_parse(&document, text, strlen(text), im->path, im->error)))
        return false;
    const struct json *name = json_first(document.root);
    for (size_t i = 0; i < count; i++, name = name ? json_next(name) : NULL)
        if (json_string(name))
            snprintf(origin->class_names[i], sizeof *origin->class_names, "%s", json_string(name));
        else
            snprintf(origin->class_names[i], sizeof *origin->class_names, "%zu", i);
    json_document_free(&document);
    return true;
}

/* --- files --- */

/* Writes the values of a parameter. Returns false if the import has failed. */
static bool fill_parameter(struct onnx_importer *im, const struct onnx_source *source, size_t count,
                           float *values)
{
    if (source->floats)
        memcpy(values, source->floats, count * sizeof *values);
    if (!source->stored)
        return true;
    if (!(source->transposed ? onnx_read_transposed : onnx_read_stored)(im, source->stored, values))
        return false;
    for (size_t i = 0; i < count && source->factor != 1; i++)
        values[i] *= source->factor;
    return true;
}

static bool fill_weights(struct onnx_importer *im, struct weights *weights)
{
    bool filled = true;
    weights_initialise(weights, 0, NULL);
    for (size_t p = 0; filled && p < weights->graph->parameter_count; p++) {
        const struct parameter *to = &weights->graph->parameters[p];
        const struct parameter *from = graph_find_parameter(&im->graph, to->name);
        filled = !from || fill_parameter(im, &im->sources[from - im->graph.parameters], to->count,
                                         weights->values + to->offset);
    }
    weights_mark_changed(weights);
    return filled;
}

static bool write_network(const struct network *network, const char *path, struct error *error)
{
    struct json *root = network_to_json(network);
    char *text = root ? json_print(root, true, error) : NULL;
    if (!root)
        error_set_memory(error, "the network file", 0);
    const bool written = text && output_file_write(path, text, strlen(text), OUTPUT_TEXT, error);
    json_free(root);
    free(text);
    return written;
}

static bool write_files(struct onnx_importer *im, const Onnx__Model *model,
                        const struct onnx_import_request *request, struct model *origin)
{
    struct model_facts facts = {.network = origin->network,
                                .origin = origin,
                                .quantization = metadata(model, "tinca.quantization"),
                                .record = metadata(model, MODEL_RECORD_KEY)};
    const char *parent = metadata(model, "tinca.parent");
    if (parent && strlen(parent) < sizeof origin->parent)
        snprintf(origin->parent, sizeof origin->parent, "%s", parent);
    /* in 16 bits only if that rounds nothing */
    const enum weights_format format = im->half[0]   ? WEIGHTS_FLOAT32
                                       : im->half[1] ? WEIGHTS_BF16
                                       : im->half[2] ? WEIGHTS_FLOAT16
                                                     : WEIGHTS_FLOAT32;
    struct error *error = im->error;
    if (!read_images(im, model, request, origin) || !read_classes(im, model, origin) ||
        !weights_create(&origin->weights, &origin->network->graph, error) ||
        !fill_weights(im, &origin->weights))
        return false;
    im->result->layers = origin->network->graph.node_count;
    im->result->parameters = graph_parameter_count(&origin->network->graph);
    facts.preprocessing = origin->preprocessing;
    return model_file_save(&facts, &origin->weights, format, request->model, error) &&
           write_network(origin->network, request->network, error);
}

bool onnx_import_save(struct onnx_importer *im, const Onnx__Model *model,
                      const struct onnx_import_request *request, size_t output)
{
    struct network head = {0};
    struct model origin = {0};
    char loss[32] = "";
    /* a network of tinca that has a softmax beside that of its loss is left as it is */
    if (!metadata(model, ONNX_NETWORK_KEY))
        im->result->softmax_left_out = graph_leave_out_softmax(&im->graph, &output);
    if (im->log_softmax && !im->result->softmax_left_out)
        return error_set(im->error, ERROR_UNSUPPORTED, im->path,
                         "change the model where it was made, or leave those nodes out", "%s",
                         N_("a LogSoftmax that is not the end of a classifier"));
    head.input = im->graph.nodes[0].output;
    if (output == 0 || !read_head(im, model, &head, loss) || !add_loss(im, output, loss) ||
        !(origin.network = make_network(im, &head)))
        return false;
    network_short_name(origin.network, im->result->network, sizeof im->result->network);
    const bool saved = write_files(im, model, request, &origin);
    model_free(&origin);
    return saved;
}
