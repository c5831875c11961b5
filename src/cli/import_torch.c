/* Arrays that do not fit are listed one by one: in the order of the network, and then of the file.
 */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/language.h"
#include "exchange/torch/torch.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

static const char *shape_text(const size_t *dims, size_t rank, char *text, size_t size)
{
    size_t used = 0;
    snprintf(text, size, "%s", rank ? "" : "1");
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "x" : "", dims[i]);
    return text;
}

/* --- as JSON --- */

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

static int print_json(const struct torch_import *import, const char *model)
{
    const struct weights_pairing *pairing = &import->pairing;
    struct json *root = json_new_object();
    char name[NETWORK_SHORT_NAME + 64];
    bool added =
        json_add_string(root, "network", network_full_name(import->network, name, sizeof name)) &&
        json_add_count(root, "classes", import->network->classes) &&
        json_add_string(root, "names", pairing->names);
    if (import->mismatches == 0)
        added = json_add_string(root, "model", model) &&
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
    return output_json(root, added);
}

/* --- as text --- */

static void list_mismatches(const struct weights_pairing *pairing)
{
    char here[96], there[96];
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        size_t i = 0;
        const enum weights_fit fit = weights_pairing_fit(pairing, parameter, &i);
        shape_text(parameter->dims, parameter->rank, here, sizeof here);
        if (fit == WEIGHTS_FIT_MISSING)
            output_note(_("  missing: %s, %s\n"), parameter->name, here);
        if (fit == WEIGHTS_FIT_SHAPE)
            output_note(_("  another shape: %s, %s; %s of the file, %s\n"), parameter->name, here,
                        pairing->original[i].name,
                        shape_text(pairing->original[i].dims, pairing->original[i].rank, there,
                                   sizeof there));
    }
}

static void list_unexpected(const struct weights_pairing *pairing)
{
    char shape[96];
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i))
            output_note(_("  unexpected: %s, %s\n"), pairing->original[i].name,
                        shape_text(pairing->original[i].dims, pairing->original[i].rank, shape,
                                   sizeof shape));
}

/* Says which network and which mapping an import is about. */
static void note_choice(const struct torch_import *import, const char *path)
{
    char name[NETWORK_SHORT_NAME + 64];
    network_full_name(import->network, name, sizeof name);
    if (import->pairing.names[0])
        output_note(_("tinca: %s beside %s, by the mapping %s:\n"), path, name,
                    import->pairing.names);
    else
        output_note(_("tinca: %s beside %s, by the names of the network:\n"), path, name);
}

static void print_result(const struct torch_import *import, const char *path, const char *model)
{
    char name[NETWORK_SHORT_NAME + 64];
    const size_t unused = weights_pairing_unused(&import->pairing);
    network_full_name(import->network, name, sizeof name);
    if (import->pairing.names[0])
        output_print(ngettext("%s: %zu array, by the mapping %s\n",
                              "%s: %zu arrays, by the mapping %s\n", import->match.loaded),
                     name, import->match.loaded, import->pairing.names);
    else
        output_print(ngettext("%s: %zu array, by the names of the network\n",
                              "%s: %zu arrays, by the names of the network\n",
                              import->match.loaded),
                     name, import->match.loaded);
    output_print(_("  model    %s\n  images   normalised as %s\n"), model, import->normalisation);
    if (import->match.identities)
        output_note(ngettext("tinca: %s: %zu array that it lacks was made to change nothing\n",
                             "tinca: %s: %zu arrays that it lacks were made to change nothing\n",
                             import->match.identities),
                    path, import->match.identities);
    if (unused == 0)
        return;
    output_note(ngettext("tinca: %s: %zu array has no place in the network:\n",
                         "tinca: %s: %zu arrays have no place in the network:\n", unused),
                path, unused);
    list_unexpected(&import->pairing);
}

/* --- the import --- */

/* Sets the path of the model: after the file if none was given, but never the file itself. Returns
 * false with an error. */
static bool choose_model(const char *path, const char *output, char *model, size_t size,
                         struct error *error)
{
    const char *base = file_base_name(path), *dot;
    if (output) {
        snprintf(model, size, "%s", output);
        return true;
    }
    dot = strrchr(base, '.');
    snprintf(model, size, "%.*s.tinca.safetensors",
             dot && dot != base ? (int)(dot - base) : (int)strlen(base), base);
    return !file_exists(model) ||
           error_set(error, ERROR_INPUT, model, "give -o FILE.safetensors",
                     "this file exists, and is not replaced unless it is named");
}

int import_torch(const char *path, const struct import_torch_options *options)
{
    struct error error = {0};
    struct torch_import import = {0};
    char model[PATH_SIZE];
    const struct torch_import_request request = {.path = path,
                                                 .model = model,
                                                 .network = options->network,
                                                 .classes = options->classes,
                                                 .names = options->names ? options->names : "",
                                                 .normalise =
                                                     options->normalise ? options->normalise : ""};
    int status = EXIT_DONE;
    const bool imported = choose_model(path, options->output, model, sizeof model, &error) &&
                          torch_import(&request, &import, &error);
    if (options->as_json && import.network && (imported || import.mismatches > 0))
        status = print_json(&import, model);
    else if (imported)
        print_result(&import, path, model);
    if (!imported) {
        status = output_error(&error);
        if (import.mismatches > 0 && !options->as_json) {
            note_choice(&import, path);
            list_mismatches(&import.pairing);
            list_unexpected(&import.pairing);
        }
    }
    torch_import_free(&import);
    return status;
}
