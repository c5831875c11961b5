/* Chooses the layers of the testing phase and goes through them. A layer whose
 * inputs a layer that tinca lacks has computed is passed over, so that the list of what is missing
 * has each layer that is, and nothing else. */
#include "exchange/caffe/internal.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum caffe_file_kind caffe_file_kind(const char *path)
{
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".prototxt") == 0)
        return CAFFE_TEXT_FILE;
    return dot && strcmp(dot, ".caffemodel") == 0 ? CAFFE_BINARY_FILE : CAFFE_NO_FILE;
}

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
    im->layers = memory_new(count, sizeof *im->layers, "the Caffe model", im->error);
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
    for (size_t i = 0; i < im->layer_count && !im->failed; i++)
        caffe_import_layer(im, im->layers[i]);
    if (im->failed)
        return false;
    if (im->result->missing_count > 0)
        return error_set(im->error, ERROR_UNSUPPORTED, im->path,
                         "change the network where it was made, or leave those layers out",
                         "tinca has no layer for %zu of its %zu layers", im->result->missing_count,
                         im->layer_count);
    if (!im->has_input || im->graph.node_count < 2)
        return caffe_damaged(im, NULL, "input", N_("the network has no input, or no layer"));
    return caffe_import_save(im);
}

static bool read_files(struct caffe_importer *im)
{
    const struct caffe_import_request *request = im->request;
    if (request->weights && !(im->model = caffe_model_read(request->weights, im->error)))
        return false;
    return request->network ? caffe_tree_read_text(&im->tree, im->path, im->error)
                            : caffe_model_tree(im->model, im->path, &im->tree, im->error);
}

static void release(struct caffe_importer *im)
{
    caffe_tree_free(&im->tree);
    caffe_model_free(im->model);
    name_index_free(&im->names);
    graph_free(&im->graph);
    free(im->layers);
    free(im->values);
    free(im->read);
    free(im->sources);
}

bool caffe_import(const struct caffe_import_request *request, struct caffe_import_result *result,
                  struct error *error)
{
    struct error unused;
    struct caffe_importer im = {.request = request,
                                .result = result,
                                .path = request->network ? request->network : request->weights,
                                .error = error ? error : &unused};
    *result = (struct caffe_import_result){0};
    if ((request->model && !output_file_check(request->model, OUTPUT_BINARY, im.error)) ||
        !output_file_check(request->file, OUTPUT_TEXT, im.error))
        return false;
    const bool imported = read_files(&im) && import_layers(&im);
    release(&im);
    return imported;
}

void caffe_import_result_free(struct caffe_import_result *result)
{
    free(result->missing);
    *result = (struct caffe_import_result){0};
}
