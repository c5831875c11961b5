/* A saved model has class names and the size of images, which a state dict has not: the classes are
 * numbered, and images are as large as the network's input. */
#include "exchange/frame/importer.h"

#include "base/files/file.h"
#include "base/language.h"
#include "engine/weights/weights_match.h"
#include "models/saved/evaluate.h"
#include "models/saved/model_file.h"
#include "models/saved/model_output.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* The network and how the arrays fit it. */
struct torch_importer {
    struct network *network;        /* NULL: none was found or built */
    struct weights_pairing pairing; /* valid if `network` is not NULL */
    size_t mismatches;              /* arrays that are missing or have another shape */
    struct weights_match match;     /* valid if the import succeeded */
    char normalisation[16];         /* likewise */
    char model[PATH_SIZE];          /* the saved model to write */
};

static void release(struct torch_importer *import)
{
    if (import->network)
        weights_pairing_close(&import->pairing);
    network_free(import->network);
    import->network = NULL;
}

/* --- the network --- */

/* A network is built with the classes of its file first. If the only arrays that do not fit are
 * those of other classes, the network is built again with those of the state dict. */

/* Opens the network with so many classes (0: those of its file). Returns false with an error. */
static bool open_network(const struct model_import *request, const char *name, size_t classes,
                         struct torch_importer *import, struct error *error)
{
    const struct network_request wanted = {.network = name, .classes = classes};
    const struct weights_source source = {request->paths[0], "", request->names,
                                          WEIGHTS_OUTPUTS_READ};
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
static size_t classes_of(const struct torch_importer *import)
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
static bool open_fitting(const struct model_import *request, const char *name,
                         struct torch_importer *import, struct error *error)
{
    struct error unused;
    if (!open_network(request, name, request->classes, import, error))
        return false;
    const size_t classes = request->classes ? 0 : classes_of(import);
    struct torch_importer other = {0};
    if (classes > 0 && open_network(request, name, classes, &other, &unused)) {
        release(import);
        const char *model = import->model;
        snprintf(other.model, sizeof other.model, "%s", model);
        *import = other;
    }
    return true;
}

static bool fits_exactly(const struct torch_importer *import)
{
    return weights_pairing_mismatches(&import->pairing) == 0 &&
           weights_pairing_unused(&import->pairing) == 0;
}

/* Sets the network of an import and opens its pairing: the requested one, or the built-in one that
 * has exactly the arrays of the file. Returns false with an error. */
static bool torch_find_network(const struct model_import *request, struct torch_importer *import,
                               struct error *error)
{
    struct error unused;
    struct safetensors file;
    if (request->network)
        return open_fitting(request, request->network, import, error);
    if (!safetensors_open(&file, request->paths[0],
                          error)) /* so that the error is about the file */
        return false;
    safetensors_close(&file);
    for (size_t i = 0; i < network_builtin_count; i++) {
        if (!open_fitting(request, network_builtins[i].name, import, &unused))
            continue;
        if (fits_exactly(import))
            return true;
        release(import);
    }
    return error_set(error, ERROR_INPUT, request->paths[0],
                     "give --network NET, a name or a network file",
                     "no built-in network has exactly the arrays of this state dict");
}

/* --- import --- */

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

static bool save(const struct model_import *request, struct torch_importer *import,
                 struct error *error)
{
    const struct weights_source source = {
        request->paths[0], "", import->pairing.names[0] ? import->pairing.names : WEIGHTS_NAMES_OWN,
        WEIGHTS_OUTPUTS_READ};
    struct model model = {.network = import->network};
    const enum weights_format format = weights_format_of(&import->pairing.file);
    const char *normalise = normalisation_of(import->network, request->normalise);
    model.preprocessing = model_preprocessing(model.network);
    bool saved =
        importer_number_classes(&model, error) &&
        normalisation_choose(&model.preprocessing.normalisation, normalise, NULL, error) &&
        model_check_memory(model.network, &(struct model_use){0}, request->paths[0], error) &&
        weights_create(&model.weights, &import->network->graph, error) &&
        weights_begin(&model.weights, &source, &import->match, error);
    const struct model_facts facts = {
        .network = import->network, .origin = &model, .preprocessing = model.preprocessing};
    saved = saved && model_file_save(&facts, &model.weights, format, import->model, error);
    snprintf(import->normalisation, sizeof import->normalisation, "%s", normalise);
    model.network = NULL; /* it stays the import's */
    model_free(&model);
    return saved;
}

/* Sets the path of the model: after the file if none was given, but never the file itself. Returns
 * false with an error. */
static bool choose_model(struct torch_importer *import, const char *path, const char *output,
                         struct error *error)
{
    const char *base = file_base_name(path), *dot = strrchr(base, '.');
    if (output) {
        snprintf(import->model, sizeof import->model, "%s", output);
        return true;
    }
    snprintf(import->model, sizeof import->model, "%.*s.tinca.safetensors",
             dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
    return !file_exists(import->model) ||
           error_set(error, ERROR_INPUT, import->model, "give -o FILE.safetensors",
                     "this file exists, and is not replaced unless it is named");
}

static bool import_state(const struct model_import *request, struct torch_importer *import,
                         struct error *error)
{
    if (!choose_model(import, request->paths[0], request->output, error) ||
        !model_output_check(request->paths[0], import->model, error) ||
        !torch_find_network(request, import, error))
        return false;
    import->mismatches = weights_pairing_mismatches(&import->pairing);
    if (import->mismatches > 0)
        return error_set(error, ERROR_INPUT, request->paths[0],
                         "take the network that it was saved from, or another mapping with --names",
                         "%zu arrays of the network are missing or have another shape",
                         import->mismatches);
    return save(request, import, error);
}

static const char *shape_text(const size_t *dims, size_t rank, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", rank ? "" : "1");
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "x" : "", dims[i]);
    return text;
}

/* --- the report as JSON --- */

static bool add_dims(struct json *object, const char *key, const size_t *dims, size_t rank)
{
    struct json *list = json_add_array(object, key);
    bool added = list;
    for (size_t i = 0; i < rank; i++)
        added = json_add_count(list, NULL, dims[i]) && added;
    return added;
}

static bool add_mismatches(struct json *missing, struct json *shapes,
                           const struct weights_pairing *pairing)
{
    bool added = true;
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        size_t i = 0;
        const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &i);
        if (fit == WEIGHTS_FIT_MISSING)
            added = json_add_string(missing, NULL, parameter->name) && added;
        if (fit != WEIGHTS_FIT_SHAPE)
            continue;
        const struct safetensors_entry *entry = &pairing->original[i];
        struct json *object = json_add_object(shapes, NULL);
        added = json_add_string(object, "name", parameter->name) &&
                json_add_string(object, "file", entry->name) &&
                add_dims(object, "shape", parameter->dims, parameter->rank) &&
                add_dims(object, "file_shape", entry->dims, entry->rank) && added;
    }
    return added;
}

static void report_json(const struct torch_importer *import, struct exchange_report *report)
{
    const struct weights_pairing *pairing = &import->pairing;
    struct json *root = report->json = json_new_object();
    char name[NETWORK_SHORT_NAME + 64];
    bool added =
        json_add_string(root, "network", network_full_name(import->network, name, sizeof name)) &&
        json_add_count(root, "classes", import->network->classes) &&
        json_add_string(root, "names", pairing->names);
    if (import->mismatches == 0)
        added = json_add_string(root, "model", import->model) &&
                json_add_string(root, "normalisation", import->normalisation) &&
                json_add_count(root, "loaded", import->match.loaded) &&
                json_add_count(root, "identities", import->match.identities) && added;
    struct json *missing = json_add_array(root, "missing");
    struct json *shapes = json_add_array(root, "another_shape");
    struct json *unexpected = json_add_array(root, "unexpected");
    added = add_mismatches(missing, shapes, pairing) && added;
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            added = json_add_string(unexpected, NULL, pairing->original[i].name) && added;
    report->incomplete = !added;
}

/* --- the report as text --- */

static void list_mismatches(const struct weights_pairing *pairing, struct exchange_report *report)
{
    char here[96], there[96];
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        size_t i = 0;
        const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &i);
        shape_text(parameter->dims, parameter->rank, here, sizeof here);
        if (fit == WEIGHTS_FIT_MISSING)
            exchange_tell(&report->notes, _("  missing: %s, %s\n"), parameter->name, here);
        if (fit == WEIGHTS_FIT_SHAPE)
            exchange_tell(&report->notes, _("  another shape: %s, %s; %s of the file, %s\n"),
                          parameter->name, here, pairing->original[i].name,
                          shape_text(pairing->original[i].dims, pairing->original[i].rank, there,
                                     sizeof there));
    }
}

static void list_unexpected(const struct weights_pairing *pairing, struct exchange_report *report)
{
    char shape[96];
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            exchange_tell(&report->notes, _("  unexpected: %s, %s\n"), pairing->original[i].name,
                          shape_text(pairing->original[i].dims, pairing->original[i].rank, shape,
                                     sizeof shape));
}

/* Says which network and which mapping an import is about. */
static void note_choice(const struct torch_importer *import, const char *path,
                        struct exchange_report *report)
{
    char name[NETWORK_SHORT_NAME + 64];
    network_full_name(import->network, name, sizeof name);
    if (import->pairing.names[0])
        exchange_tell(&report->notes, _("tinca: %s beside %s, by the mapping %s:\n"), path, name,
                      import->pairing.names);
    else
        exchange_tell(&report->notes, _("tinca: %s beside %s, by the names of the network:\n"),
                      path, name);
}

static void report_result(const struct torch_importer *import, const char *path,
                          struct exchange_report *report)
{
    char name[NETWORK_SHORT_NAME + 64];
    const size_t unused = weights_pairing_unused(&import->pairing);
    network_full_name(import->network, name, sizeof name);
    if (import->pairing.names[0])
        exchange_tell(&report->result,
                      ngettext("%s: %zu array, by the mapping %s\n",
                               "%s: %zu arrays, by the mapping %s\n", import->match.loaded),
                      name, import->match.loaded, import->pairing.names);
    else
        exchange_tell(&report->result,
                      ngettext("%s: %zu array, by the names of the network\n",
                               "%s: %zu arrays, by the names of the network\n",
                               import->match.loaded),
                      name, import->match.loaded);
    exchange_tell(&report->result, _("  model    %s\n  images   normalised as %s\n"), import->model,
                  import->normalisation);
    if (import->match.identities)
        exchange_tell(&report->notes,
                      ngettext("tinca: %s: %zu array that it lacks was made to change nothing\n",
                               "tinca: %s: %zu arrays that it lacks were made to change nothing\n",
                               import->match.identities),
                      path, import->match.identities);
    if (unused == 0)
        return;
    exchange_tell(&report->notes,
                  ngettext("tinca: %s: %zu array has no place in the network:\n",
                           "tinca: %s: %zu arrays have no place in the network:\n", unused),
                  path, unused);
    list_unexpected(&import->pairing, report);
}

bool torch_import(const struct model_import *request, struct exchange_report *report,
                  struct error *error)
{
    struct torch_importer import = {0};
    const char *path = request->paths[0];
    const bool imported = import_state(request, &import, error);
    if (import.network && (imported || import.mismatches > 0))
        report_json(&import, report);
    if (imported) {
        report_result(&import, path, report);
    } else if (import.mismatches > 0) {
        note_choice(&import, path, report);
        list_mismatches(&import.pairing, report);
        list_unexpected(&import.pairing, report);
    }
    release(&import);
    return imported;
}
