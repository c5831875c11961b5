/* A saved model has class names and the size of images, which a state dict has not: the classes are
 * numbered, and images are as large as the network's input. */
#include "session/torch/torch.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "session/model/evaluate.h"
#include "session/model/model_file.h"
#include "session/model/model_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    import->misfits = weights_pairing_misfits(&import->pairing);
    if (import->misfits > 0)
        return error_set(error, ERROR_INPUT, request->path,
                         "take the network that it was saved from, or another mapping with --names",
                         "%zu arrays of the network are missing or have another shape",
                         import->misfits);
    return save(request, import, error);
}

void torch_import_free(struct torch_import *import)
{
    if (import->network)
        weights_pairing_close(&import->pairing);
    network_free(import->network);
    *import = (struct torch_import){0};
}
