/* A saved model has class names and the size of images, which a state dict has not: the classes are
 * numbered, and images are as large as the network's input. */
#include "exchange/torch/torch.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "models/saved/evaluate.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- torch network --- */

/* A network is built with the classes of its file first. If the only arrays that do not fit are
 * those of other classes, the network is built again with those of the state dict. */

/* Opens the network with so many classes (0: those of its file). Returns false with an error. */
static bool open_network(const struct torch_import_request *request, const char *name,
                         size_t classes, struct torch_import *import, struct error *error)
{
    const struct network_request wanted = {.network = name, .classes = classes};
    const struct weights_source source = {request->path, "", request->names, WEIGHTS_OUTPUTS_READ};
    import->network = network_build(&wanted, error);
    if (!import->network)
        return false;
    if (weights_pairing_open(&import->pairing, &import->network->graph, &source, error))
        return true;
    network_free(import->network);
    import->network = NULL;
    return false;
}

/* Returns the classes of a state dict if, in each array that does not fit, only the first size
 * differs and is the same in all; 0 otherwise. */
static size_t classes_of(const struct torch_import *import)
{
    const struct graph *graph = &import->network->graph;
    size_t classes = 0;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        size_t i = 0;
        const enum weights_fit fit = weights_pairing_fit(&import->pairing, parameter, &i);
        if (fit != WEIGHTS_FIT_SHAPE)
            continue;
        const struct safetensors_entry *found = &import->pairing.file.entries[i];
        if (found->rank != parameter->rank || found->rank == 0 ||
            parameter->dims[0] != import->network->classes ||
            memcmp(found->dims + 1, parameter->dims + 1, (found->rank - 1) * sizeof *found->dims) !=
                0 ||
            (classes > 0 && found->dims[0] != classes))
            return 0;
        classes = found->dims[0];
    }
    return classes;
}

/* Opens a network with the request's classes, or those of the state dict. */
static bool open_fitting(const struct torch_import_request *request, const char *name,
                         struct torch_import *import, struct error *error)
{
    struct error unused;
    if (!open_network(request, name, request->classes, import, error))
        return false;
    const size_t classes = request->classes ? 0 : classes_of(import);
    struct torch_import other = {0};
    if (classes > 0 && open_network(request, name, classes, &other, &unused)) {
        torch_import_free(import);
        *import = other;
    }
    return true;
}

static bool fits_exactly(const struct torch_import *import)
{
    return weights_pairing_mismatches(&import->pairing) == 0 &&
           weights_pairing_unused(&import->pairing) == 0;
}

/* Sets the network of an import and opens its pairing: the requested one, or the built-in one that
 * has exactly the arrays of the file. Returns false with an error. */
static bool torch_find_network(const struct torch_import_request *request,
                               struct torch_import *import, struct error *error)
{
    struct error unused;
    struct safetensors file;
    *import = (struct torch_import){0};
    if (request->network)
        return open_fitting(request, request->network, import, error);
    if (!safetensors_open(&file, request->path, error)) /* so that the error is about the file */
        return false;
    safetensors_close(&file);
    for (size_t i = 0; i < network_builtin_count; i++) {
        if (!open_fitting(request, network_builtins[i].name, import, &unused))
            continue;
        if (fits_exactly(import))
            return true;
        torch_import_free(import);
    }
    return error_set(error, ERROR_INPUT, request->path,
                     "give --network NET, a name or a network file",
                     "no built-in network has exactly the arrays of this state dict");
}

/* --- import --- */

/* Describes the images and classes of a model of this network. */
static bool describe(struct model *model, const char *normalise, struct error *error)
{
    const struct network *network = model->network;
    model->preprocessing = model_preprocessing(network);
    model->class_names =
        memory_new(network->classes + 1, sizeof *model->class_names, "class names", error);
    for (size_t i = 0; model->class_names && i < network->classes; i++)
        snprintf(model->class_names[i], sizeof *model->class_names, "%zu", i);
    return model->class_names &&
           normalisation_choose(&model->preprocessing.normalisation, normalise, NULL, error);
}

/* Returns how the images of a network are normalised, unless the user has chosen: as its file says,
 * or "unit" if that depends on a training set. */
static const char *normalisation_of(const struct network *network, const char *chosen)
{
    if (chosen[0])
        return chosen;
    return network->normalisation[0] && strcmp(network->normalisation, "measured") != 0
               ? network->normalisation
               : "unit";
}

static bool save(const struct torch_import_request *request, struct torch_import *import,
                 struct error *error)
{
    const struct weights_source source = {
        request->path, "", import->pairing.names[0] ? import->pairing.names : WEIGHTS_NAMES_OWN,
        WEIGHTS_OUTPUTS_READ};
    struct model model = {.network = import->network};
    const enum weights_format format = weights_format_of(&import->pairing.file);
    const char *normalise = normalisation_of(import->network, request->normalise);
    bool saved = describe(&model, normalise, error) &&
                 model_check_memory(model.network, &(struct model_use){0}, request->path, error) &&
                 weights_create(&model.weights, &import->network->graph, error) &&
                 weights_begin(&model.weights, &source, &import->match, error);
    const struct model_facts facts = {
        .network = import->network, .origin = &model, .preprocessing = model.preprocessing};
    saved = saved && model_file_save(&facts, &model.weights, format, request->model, error);
    snprintf(import->normalisation, sizeof import->normalisation, "%s", normalise);
    model.network = NULL; /* it stays the import's */
    model_free(&model);
    return saved;
}

bool torch_import(const struct torch_import_request *request, struct torch_import *import,
                  struct error *error)
{
    *import = (struct torch_import){0};
    if (!model_output_check(request->path, request->model, error) ||
        !torch_find_network(request, import, error))
        return false;
    import->mismatches = weights_pairing_mismatches(&import->pairing);
    if (import->mismatches > 0)
        return error_set(error, ERROR_INPUT, request->path,
                         "take the network that it was saved from, or another mapping with --names",
                         "%zu arrays of the network are missing or have another shape",
                         import->mismatches);
    return save(request, import, error);
}

void torch_import_free(struct torch_import *import)
{
    if (import->network)
        weights_pairing_close(&import->pairing);
    network_free(import->network);
    *import = (struct torch_import){0};
}
