/* Chooses the layers of the testing phase and goes through them. A layer whose inputs a layer that
 * tinca lacks has computed is passed over. The layers that the losses need become a network file,
 * and with weights a saved model; if the file has no loss, the last layer that nothing reads is the
 * output. */
#include "exchange/caffe/internal.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "models/saved/model_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- weights --- */

/* Copies the file's arrays into the weights. Caffe reads images with OpenCV, whose channels are
 * blue, green, red; tinca's are red, green, blue, so the weights that read the images change
 * places. */

static float value_at(const struct caffe_blob *blob, size_t i)
{
    return blob->floats ? blob->floats[i] : (float)blob->doubles[i];
}

static bool fail(struct caffe_importer *im, const char *layer, const char *why)
{
    im->base.path = im->weights;
    return caffe_damaged(im, NULL, layer, why);
}

/* Reads the array that a parameter comes from. */
static bool find_blob(struct caffe_importer *im, const struct caffe_source *source, size_t count,
                      struct caffe_blob *blob)
{
    const size_t blobs = caffe_model_blobs(im->model, source->layer);
    if (blobs <= source->blob)
        return fail(im, source->layer,
                    blobs ? N_("the layer lacks one of its arrays of weights")
                          : N_("there are no weights for this layer: the files do not belong to "
                               "each other"));
    *blob = caffe_model_blob(im->model, source->layer, source->blob);
    if (blob->count != (source->copy == CAFFE_REPEAT ? 1 : count))
        return fail(im, source->layer,
                    N_("an array of its weights has another size than the network says"));
    return true;
}

/* Returns what statistics are multiplied by. */
static bool find_factor(struct caffe_importer *im, const struct caffe_source *source, float *factor)
{
    const struct caffe_source last = {source->layer, 2, CAFFE_REPEAT};
    struct caffe_blob blob;
    if (!find_blob(im, &last, 1, &blob))
        return false;
    const float sum = value_at(&blob, 0);
    *factor = sum == 0 ? 0 : 1 / sum;
    return true;
}

/* Reads an array [I, O] of the file as [O, I], row by row. */
static bool read_transposed(struct caffe_importer *im, const struct caffe_blob *blob,
                            const struct parameter *to, float *values)
{
    const size_t outputs = to->dims[0], inputs = to->dims[1];
    float *row = memory_new(outputs, sizeof *row, "the weights", im->base.error);
    bool read = row;
    im->base.failed |= !row;
    for (size_t i = 0; read && i < inputs; i++) {
        read = file_read_at(blob->file, (char *)row, outputs * sizeof *row,
                            blob->offset + i * outputs * sizeof *row);
        for (size_t o = 0; read && o < outputs; o++)
            values[o * inputs + i] = row[o];
    }
    free(row);
    return read;
}

/* Writes the values of an array in the order of tinca's. */
static bool read_values(struct caffe_importer *im, const struct caffe_source *source,
                        const struct caffe_blob *blob, const struct parameter *to, float *values)
{
    const bool stored = !blob->floats && !blob->doubles;
    if (stored && source->copy == CAFFE_TRANSPOSE)
        return read_transposed(im, blob, to, values);
    if (stored)
        return file_read_at(blob->file, (char *)values, to->count * sizeof *values, blob->offset);
    for (size_t i = 0; i < to->count; i++) {
        size_t from = i;
        if (source->copy == CAFFE_REPEAT)
            from = 0;
        if (source->copy == CAFFE_TRANSPOSE) /* [O, I] of [I, O] */
            from = i % to->dims[1] * to->dims[0] + i / to->dims[1];
        values[i] = value_at(blob, from);
    }
    return true;
}

/* Copies the values of a parameter from the file; without a source it begins as the layer says. */
static bool copy_values(struct importer *base, size_t from, const struct parameter *to,
                        float *values)
{
    struct caffe_importer *im = (struct caffe_importer *)base;
    const struct caffe_source *source = &im->sources[from];
    struct caffe_blob blob;
    float factor = 1;
    if (!source->layer || source->copy == CAFFE_DEFAULT)
        return true;
    if (!find_blob(im, source, to->count, &blob) ||
        (source->copy == CAFFE_STATISTIC && !find_factor(im, source, &factor)))
        return false;
    if (!read_values(im, source, &blob, to, values))
        return fail(im, source->layer, N_("an array of its weights cannot be read"));
    for (size_t i = 0; i < to->count; i++) {
        values[i] *= factor;
        if (!isfinite(values[i]))
            return fail(im, source->layer, N_("a weight is NaN or infinite"));
    }
    return true;
}

/* --- the order of channels --- */

/* Swaps the first and the third part of each of `rows` rows of three parts. */
static void swap_parts(float *values, size_t rows, size_t part)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < part; i++) {
            float *first = values + row * 3 * part + i, *third = first + 2 * part, kept = *first;
            *first = *third;
            *third = kept;
        }
}

/* Brings the weights of all layers that read the images from BGR to RGB. */
static bool reorder(struct caffe_importer *im, struct weights *weights)
{
    const struct graph *graph = weights->graph;
    for (size_t n = 1; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        bool reads = false;
        for (size_t k = 0; k < node->input_count; k++)
            reads |= node->inputs[k] == 0;
        if (!reads)
            continue;
        const bool conv = node->op == &op_conv && node->attributes.conv.groups == 1;
        if (!conv && node->op != &op_linear)
            return error_set(im->base.error, ERROR_UNSUPPORTED, node->name,
                             "give --channel-order rgb, and images whose channels are swapped",
                             "it reads the images, and its weights cannot be brought from BGR "
                             "to RGB");
        const struct parameter *weight = &graph->parameters[node->parameters[0]];
        swap_parts(weights->values + weight->offset, weight->dims[0],
                   weight->count / weight->dims[0] / 3);
        im->reordered = true;
    }
    return true;
}

static bool finish_weights(struct importer *base, struct weights *weights)
{
    struct caffe_importer *im = (struct caffe_importer *)base;
    return weights->graph->nodes[0].output.channels != 3 || im->request->rgb ||
           reorder(im, weights);
}

/* --- the network and its files --- */

/* The layers that the losses need become a network file, and with weights a saved model. If the
 * file has no loss, the last layer that nothing reads is the output. */

/* --- the output and the losses --- */

/* Returns the node whose values are the prediction; the losses before the main one become auxiliary
 * heads, with weights relative to it. */
static size_t find_output(struct caffe_importer *im)
{
    size_t output = 0;
    if (im->loss_count > 0) {
        const struct caffe_loss *whole = &im->losses[im->loss_count - 1];
        for (size_t i = 0; i + 1 < im->loss_count; i++)
            im->base.heads[im->base.head_count++] =
                (struct importer_loss){im->losses[i].node, im->losses[i].weight / whole->weight};
        return whole->node;
    }
    for (size_t i = 1; i < im->base.graph.node_count; i++)
        if (i >= im->read_capacity || !im->read[i]) {
            im->base.left_out += output > 0;
            output = i;
        }
    if (output == 0) /* a layer that changes nothing reads the last one */
        output = im->base.graph.node_count - 1;
    im->base.softmax_left_out = graph_leave_out_softmax(&im->base.graph, &output);
    return output;
}

/* --- what the file says of its images --- */

/* Reads mean_value and scale of a transformation: tinca subtracts a mean and divides by a
 * deviation. Returns whether there are some. */
static bool read_transform(struct caffe_importer *im, struct normalisation *normalisation)
{
    const struct caffe_field *transform = im->transform;
    const size_t means = caffe_count(transform, "mean_value");
    const float scale = caffe_get_float(im, transform, "scale", 1);
    if (!transform || (means == 0 && !caffe_first(transform, "scale")) || !(scale > 0))
        return false;
    if (means > 3 || means == 2)
        return caffe_damaged(im, transform, "mean_value", N_("one or three values were expected"));
    for (size_t c = 0; c < 3; c++) {
        const size_t from = means < 3 ? 0 : im->request->rgb ? c : 2 - c;
        const struct caffe_field *field = caffe_nth(transform, "mean_value", from);
        double mean = 0;
        if (field && (!caffe_read_number(field, &mean) || fabs(mean) > 1e6))
            return caffe_damaged(im, field, "mean_value", N_("a number was expected"));
        normalisation->mean[c] = (float)mean;
        normalisation->deviation[c] = 1 / scale;
    }
    snprintf(normalisation->name, sizeof normalisation->name, "measured");
    return true;
}

/* Chooses how images are normalised, and numbers the classes. */
static bool describe(struct importer *base, struct model *origin)
{
    struct caffe_importer *im = (struct caffe_importer *)base;
    struct normalisation *normalisation = &origin->preprocessing.normalisation;
    const char *chosen = im->request->normalise;
    if (!normalisation_choose(normalisation, chosen[0] ? chosen : origin->network->normalisation,
                              NULL, base->error) ||
        (!chosen[0] && !read_transform(im, normalisation) && base->failed))
        return false;
    im->normalisation = *normalisation;
    im->channels = origin->network->input.channels;
    im->mean_file = chosen[0] ? "" : caffe_text(im->transform, "mean_file", "");
    return !base->model_path || importer_number_classes(origin, base->error);
}

/* Writes the files. Returns false with an error. */
static bool save(struct caffe_importer *im)
{
    struct importer_end end = {.output = find_output(im),
                               .loss = "",
                               .classified = im->loss_count > 0,
                               .describe = describe,
                               .finish = finish_weights,
                               .format = WEIGHTS_FLOAT32};
    const char *chosen = im->request->normalise;
    if (end.output == 0)
        return caffe_damaged(im, NULL, "output", N_("no layer computes the network's output"));
    importer_name_network(&im->base, caffe_text(&im->tree.root, "name", ""), &end.head);
    snprintf(end.head.normalisation, sizeof end.head.normalisation, "%s",
             chosen[0]                                      ? chosen
             : im->base.graph.nodes[0].output.channels == 3 ? "caffe"
                                                            : "unit256"); /* as Caffe's LeNet */
    return importer_save(&im->base, &end);
}

/* Adds to the report how images are prepared, and what was left out. */
static void report_images(const struct caffe_importer *im, struct exchange_report *report)
{
    const float *mean = im->normalisation.mean, *deviation = im->normalisation.deviation;
    if (im->channels == 3)
        exchange_tell(&report->result,
                      _("  images   RGB; (%g, %g, %g) are subtracted, then divided by %g\n"),
                      (double)mean[0], (double)mean[1], (double)mean[2], (double)deviation[0]);
    else
        exchange_tell(&report->result, _("  images   %g is subtracted, then divided by %g\n"),
                      (double)mean[0], (double)deviation[0]);
    if (im->reordered)
        exchange_tell(
            &report->notes,
            _("tinca: the weights that read the images were brought from BGR, Caffe's order "
              "of channels, to RGB (--channel-order)\n"));
    if (im->mean_file[0])
        exchange_tell(
            &report->notes,
            _("tinca: %s: the file of means %s is not read; --normalise chooses a mean\n"),
            im->base.path, im->mean_file);
    if (im->multipliers)
        exchange_tell(
            &report->notes,
            ngettext("tinca: %zu layer has lr_mult or decay_mult, which are left out; --rates and "
                     "--freeze of tinca train replace them\n",
                     "tinca: %zu layers have lr_mult or decay_mult, which are left out; --rates "
                     "and --freeze of tinca train replace them\n",
                     im->multipliers),
            im->multipliers);
    report->incomplete |= !json_add_bool(report->json, "reordered", im->reordered);
}

/* --- phases --- */

/* Chooses the layers of the testing phase and goes through them. A layer whose
 * inputs a layer that tinca lacks has computed is passed over, so that the list of what is missing
 * has each layer that is, and nothing else. */

/* --- phases --- */

/* Returns whether a rule holds in the state of a network that Caffe builds for testing: phase TEST,
 * level 0, no stages. */
static bool rule_holds(const struct caffe_field *rule)
{
    const char *phase = caffe_text(rule, "phase", "TEST");
    const struct caffe_field *low = caffe_first(rule, "min_level");
    const struct caffe_field *high = caffe_first(rule, "max_level");
    double level;
    return (strcmp(phase, "TEST") == 0 || strcmp(phase, "1") == 0) && !caffe_first(rule, "stage") &&
           !(low && caffe_read_number(low, &level) && level > 0) &&
           !(high && caffe_read_number(high, &level) && level < 0);
}

static bool is_included(const struct caffe_field *layer)
{
    const struct caffe_field *include = caffe_first(layer, "include");
    bool included = !include;
    for (; include; include = caffe_next(include))
        included |= rule_holds(include);
    for (const struct caffe_field *f = caffe_first(layer, "exclude"); f; f = caffe_next(f))
        included &= !rule_holds(f);
    return included;
}

/* Lists the layers that are included, of the format that the file has. */
static bool list_layers(struct caffe_importer *im)
{
    const struct caffe_field *root = &im->tree.root;
    const char *name = caffe_first(root, "layer") ? "layer" : "layers";
    const size_t count = caffe_count(root, name);
    if (count == 0 || count > CAFFE_MAX_LAYERS)
        return caffe_damaged(im, NULL, name,
                             count ? N_("the network has too many layers")
                                   : N_("the file has no layers, so it is no network of Caffe"));
    im->layers = memory_new(count, sizeof *im->layers, "the Caffe model", im->base.error);
    if (!im->layers)
        return false;
    for (const struct caffe_field *f = caffe_first(root, name); f; f = caffe_next(f)) {
        if (caffe_first(f, "layer") || f->kind != CAFFE_MESSAGE)
            return caffe_damaged(im, f, name,
                                 N_("layers of Caffe's first format; upgrade_net_proto_text of "
                                    "Caffe brings the file up to date"));
        if (is_included(f))
            im->layers[im->layer_count++] = f;
    }
    return true;
}

/* --- the network --- */

static bool import_layers(struct caffe_importer *im)
{
    if (!list_layers(im) || !caffe_import_fields(im))
        return false;
    for (size_t i = 0; i < im->layer_count && !im->base.failed; i++)
        caffe_import_layer(im, im->layers[i]);
    if (im->base.failed)
        return false;
    if (!importer_is_complete(&im->base, im->layer_count))
        return false;
    if (!im->has_input || im->base.graph.node_count < 2)
        return caffe_damaged(im, NULL, "input", N_("the network has no input, or no layer"));
    return save(im);
}

/* --- the files --- */

static bool is_binary(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".caffemodel") == 0;
}

/* Takes one of the two files; each may be given once. */
static bool take_file(struct caffe_importer *im, const char *path, struct error *error)
{
    const char **place = is_binary(path) ? &im->weights : &im->network, *dot = strrchr(path, '.');
    if (!is_binary(path) && (!dot || strcmp(dot, ".prototxt") != 0))
        return error_set(error, ERROR_USAGE, path, "import it alone",
                         "its name ends neither in .prototxt nor in .caffemodel");
    if (*place)
        return error_set(error, ERROR_USAGE, path, "import one network at a time",
                         "there are two files of this kind");
    *place = path;
    return true;
}

static bool take_files(struct caffe_importer *im, struct error *error)
{
    const struct model_import *request = im->request;
    for (size_t i = 0; i < request->count; i++)
        if (!take_file(im, request->paths[i], error))
            return false;
    if (request->weights && im->weights)
        return error_set(error, ERROR_USAGE, OPTION(weights), "name it once",
                         "there are two files of weights");
    im->weights = request->weights ? request->weights : im->weights;
    im->base.path = im->network ? im->network : im->weights;
    return importer_name_files(&im->base, request->output, im->weights);
}

static bool read_files(struct caffe_importer *im)
{
    if (im->weights && !(im->model = caffe_model_read(im->weights, im->base.error)))
        return false;
    return im->network ? caffe_tree_read_text(&im->tree, im->base.path, im->base.error)
                       : caffe_model_tree(im->model, im->base.path, &im->tree, im->base.error);
}

static void release(struct caffe_importer *im)
{
    caffe_tree_free(&im->tree);
    caffe_model_free(im->model);
    name_index_free(&im->names);
    importer_free(&im->base);
    free(im->layers);
    free(im->values);
    free(im->read);
    free(im->sources);
}

bool caffe_import(const struct model_import *import, struct exchange_report *report,
                  struct error *error)
{
    static const struct importer_words words = {
        .what = "the Caffe model",
        .lacking = N_("tinca has no layer for %zu of its %zu layers"),
        .change = N_("change the network where it was made, or leave those layers out"),
        .node = "layer",
        .type = "type"};
    if (import->count == 1 && caffe_is_solver(import->paths[0]))
        return caffe_solver_report(import->paths[0], report, error);
    struct caffe_importer im = {.base = {.words = &words, .fill = copy_values, .error = error},
                                .request = import};
    const bool imported = take_files(&im, error) && read_files(&im) && import_layers(&im);
    importer_report(&im.base, imported, report);
    if (imported)
        report_images(&im, report);
    release(&im);
    return imported;
}
