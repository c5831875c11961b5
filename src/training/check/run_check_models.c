/* Checks saved models and checkpoints: the checksum, the metadata, the arrays against the network,
 * and the network against the one in the journal. */
#include "training/check/internal.h"

#include "base/language.h"
#include "base/memory.h"
#include "engine/weights/weights_match.h"
#include "models/saved/evaluate.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_files.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"
#include "training/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- arrays --- */

/* Checks the arrays of a safetensors file: their shapes against the network, and their values for
 * NaN and infinity. */

enum { BLOCK = 1 << 14 };

/* Returns the index of the first value that is NaN or infinite, or the number of values. */
static uint64_t find_not_finite(struct safetensors *file, const struct safetensors_entry *entry)
{
    float block[BLOCK];
    const uint64_t count = safetensors_count(entry);
    for (uint64_t done = 0; done < count;) {
        const size_t some = count - done < BLOCK ? (size_t)(count - done) : BLOCK;
        if (!safetensors_read_floats(file, entry, done, some, block, NULL))
            return done;
        for (size_t i = 0; i < some; i++)
            if (!isfinite(block[i]))
                return done + i;
        done += some;
    }
    return count;
}

/* Reports the first float32 value that is NaN or infinite, unless the run has diverged. Returns
 * false if it reported one. */
static bool check_values(struct check *check, const char *file, struct safetensors *opened,
                         enum check_remedy remedy)
{
    if (check_has_diverged(check))
        return true;
    for (size_t i = 0; i < opened->count; i++) {
        const struct safetensors_entry *entry = &opened->entries[i];
        if (!safetensors_has_numbers(opened, entry))
            continue;
        const uint64_t at = find_not_finite(opened, entry);
        if (at == safetensors_count(entry))
            continue;
        check_damage(check, file, remedy, _("value %llu of \"%s\" is NaN or infinite"),
                     (unsigned long long)at, entry->name);
        return false;
    }
    return true;
}

/* Returns whether an entry has the parameter's shape and a valid type; only models may have rounded
 * weights. */
static bool has_shape(const struct safetensors *file, const struct safetensors_entry *entry,
                      const struct parameter *parameter, enum check_remedy remedy)
{
    const bool typed = remedy == REMEDY_CHECKPOINT ? entry->type == SAFETENSORS_F32
                                                   : safetensors_has_numbers(file, entry);
    return typed && entry->rank == parameter->rank &&
           memcmp(entry->dims, parameter->dims, entry->rank * sizeof *entry->dims) == 0;
}

/* Returns whether the file has all parameters of the graph, with `prefix` before their names; adds
 * their number to *found. `learnable`: only the trained ones are required. Reports the first one
 * that is missing or has another shape. */
static bool check_parameters(struct check *check, const char *file,
                             const struct safetensors *opened, const struct graph *graph,
                             const char *prefix, bool learnable, enum check_remedy remedy,
                             size_t *found)
{
    char name[sizeof opened->entries->name];
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (learnable && !parameter->learnable)
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, parameter->name);
        const struct safetensors_entry *entry = safetensors_find(opened, name);
        if (!entry || !has_shape(opened, entry, parameter, remedy)) {
            check_damage(check, file, remedy,
                         entry ? _("\"%s\" has another shape or type than in the network")
                               : _("\"%s\" is missing"),
                         name);
            return false;
        }
        ++*found;
    }
    return true;
}

/* --- models --- */

/* Opens a file and verifies its checksum, if it has one. Returns false after it has reported that
 * this failed. */
static bool open_model(struct check *check, const char *file, enum check_remedy remedy,
                       struct safetensors *opened)
{
    struct error error = {0};
    char *path = check_path(check, file);
    bool good = path && safetensors_open(opened, path, &error);
    free(path);
    if (good && safetensors_has_checksum(opened) && !safetensors_check(opened, &error)) {
        safetensors_close(opened);
        good = false;
    }
    if (!good)
        check_damage_by(check, file, remedy, &error);
    return good;
}

/* Returns whether a model has the run's network file, by the file's name. Earlier versions named
 * such a network by the name inside the file, as the journal of a run that they began does. */
static bool is_called_like_file(const struct check *check, const struct network *network)
{
    char called[64];
    return check->has_config && strchr(network_settings(&check->config).network, '/') &&
           strcmp(network->name, config_network_name(network_settings(&check->config).network,
                                                     called, sizeof called)) == 0;
}

static void compare_network(struct check *check, const char *file, const struct network *network)
{
    char name[64];
    const struct check_record *record = &check->record;
    network_full_name(network, name, sizeof name);
    const size_t parameters = graph_parameter_count(&network->graph);
    if (record->started && parameters != record->facts.parameters)
        check_damage(check, file, REMEDY_MODEL,
                     _("its network has %zu parameters, but the run's journal says %zu"),
                     parameters, record->facts.parameters);
    else if (record->started && strcmp(name, record->facts.network) != 0 &&
             !is_called_like_file(check, network))
        check_damage(check, file, REMEDY_MODEL,
                     _("it is a model of %.63s, but the run's journal says %.63s"), name,
                     record->facts.network);
}

static void inspect_arrays(struct check *check, const char *file, struct safetensors *opened,
                           const struct graph *graph)
{
    size_t found = 0;
    if (!check_parameters(check, file, opened, graph, "", false, REMEDY_MODEL, &found))
        return;
    if (found != opened->count)
        check_damage(check, file, REMEDY_MODEL, _("it has %zu arrays, but the network has %zu"),
                     opened->count, found);
    else
        check_values(check, file, opened, REMEDY_MODEL);
}

void check_model(struct check *check, const char *file)
{
    struct safetensors opened;
    struct error error = {0};
    struct model *model = memory_new(1, sizeof *model, "a model", &error);
    char *path = check_path(check, file);
    check->out_of_memory |= !model;
    if (model && path && open_model(check, file, REMEDY_MODEL, &opened)) {
        if (!model_file_describe(model, path, &error))
            check_damage_by(check, file, REMEDY_MODEL, &error);
        else {
            compare_network(check, file, model->network);
            inspect_arrays(check, file, &opened, &model->network->graph);
        }
        safetensors_close(&opened);
    }
    free(path);
    if (!model)
        return;
    if (!check->network && check_is_sound(check, file)) {
        check->network = model->network;
        model->network = NULL;
    }
    network_free(model->network);
    free(model->class_names);
    free(model);
}

/* Builds the network from the configuration if no file of the run describes it. Uses it only if its
 * number of parameters is that of the journal: the user's network file may have changed since. */
static void find_network(struct check *check)
{
    struct network_request request = network_settings(&check->config).request;
    request.classes = check->record.facts.classes;
    if (check->network || !check->record.started)
        return;
    struct network *network = network_build(&request, NULL);
    if (network && graph_parameter_count(&network->graph) == check->record.facts.parameters)
        check->network = network;
    else
        network_free(network);
}

/* Compares a discriminator's file, which has no metadata, with the network. */
void check_discriminator(struct check *check, const char *file)
{
    struct safetensors opened;
    size_t found = 0;
    if (!check->has_config || !open_model(check, file, REMEDY_MODEL, &opened))
        return;
    find_network(check);
    if (check->network &&
        check_parameters(check, file, &opened, &check->network->discriminator, "", false,
                         REMEDY_MODEL, &found) &&
        found != opened.count)
        check_damage(check, file, REMEDY_MODEL, _("it has %zu arrays, but the network has %zu"),
                     opened.count, found);
    else if (check_is_sound(check, file))
        check_values(check, file, &opened, REMEDY_MODEL);
    safetensors_close(&opened);
}

/* Reports the first array that the network lacks or has in another shape. Output layers for other
 * classes are no damage: a fork makes them anew. */
static bool ancestor_fits(struct check *check, const char *file, struct weights_pairing *pairing)
{
    const struct graph *graph = pairing->graph;
    size_t entry;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const enum weights_fit fit = weights_pairing_fit(pairing, &graph->parameters[p], &entry);
        if (fit != WEIGHTS_FIT_MISSING && fit != WEIGHTS_FIT_SHAPE)
            continue;
        check_damage(check, file, REMEDY_ANCESTOR,
                     fit == WEIGHTS_FIT_SHAPE
                         ? _("\"%s\" has another shape or type than in the network")
                         : _("\"%s\" is missing"),
                     graph->parameters[p].name);
        return false;
    }
    return true;
}

/* Compares the file with the run's network. Returns false after it has reported a difference. */
static bool compare_ancestor(struct check *check, const char *file)
{
    struct weights_pairing pairing;
    struct error error = {0};
    char *path = check_path(check, file);
    const struct weights_source source = {path, "", WEIGHTS_NAMES_OWN, WEIGHTS_OUTPUTS_FIT};
    bool fits = path;
    if (path && weights_pairing_open(&pairing, &check->network->graph, &source, &error)) {
        fits = ancestor_fits(check, file, &pairing);
        weights_pairing_close(&pairing);
    } else if (path) {
        check_damage_by(check, file, REMEDY_ANCESTOR, &error);
        fits = false;
    }
    free(path);
    return fits;
}

/* Checks the weights that a fork begins with: a model, or a checkpoint, which has other arrays,
 * too. */
void check_ancestor(struct check *check, const char *file)
{
    struct safetensors opened;
    if (!check->has_config || !open_model(check, file, REMEDY_ANCESTOR, &opened))
        return;
    find_network(check);
    if (!check->network || compare_ancestor(check, file))
        check_values(check, file, &opened, REMEDY_ANCESTOR);
    safetensors_close(&opened);
}

/* --- checkpoints --- */

/* Checks the solver's state of one network: the solver stores none, one or two arrays for each
 * trained parameter. */
static bool inspect_states(struct check *check, const char *file, const struct safetensors *opened,
                           const struct graph *graph, const char *prefix, size_t *found)
{
    char full[64];
    const struct solver_settings solver = training_settings(&check->config).solver_settings;
    for (size_t i = 0; i < solver_state_count(&solver); i++) {
        snprintf(full, sizeof full, "%ssolver.%zu.", prefix, i);
        if (!check_parameters(check, file, opened, graph, full, true, REMEDY_CHECKPOINT, found))
            return false;
    }
    return true;
}

static bool inspect_network(struct check *check, const char *file, const struct safetensors *opened,
                            const struct graph *graph, const char *prefix, size_t *found)
{
    return check_parameters(check, file, opened, graph, prefix, false, REMEDY_CHECKPOINT, found) &&
           inspect_states(check, file, opened, graph, prefix, found);
}

/* Checks the further arrays that a run with these settings has for each parameter of the saved
 * network. */
static bool inspect_others(struct check *check, const char *file, const struct safetensors *opened,
                           const struct graph *graph, size_t *found)
{
    const char *prefix;
    for (size_t next = 0; (prefix = checkpoint_next_prefix(&check->config, &next));)
        if (!check_parameters(check, file, opened, graph, prefix, true, REMEDY_CHECKPOINT, found))
            return false;
    return true;
}

static bool inspect_window(struct check *check, const char *file, const struct safetensors *opened)
{
    const struct safetensors_entry *window = safetensors_find(opened, "loss_window");
    const bool good = window && window->type == SAFETENSORS_F32 && window->rank == 1 &&
                      window->dims[0] == measurement_settings(&check->config).average_loss;
    if (!good)
        check_damage(check, file, REMEDY_CHECKPOINT,
                     _("its window of losses is missing or has another length"));
    return good;
}

static void inspect_checkpoint(struct check *check, const char *file, struct safetensors *opened)
{
    size_t found = 1; /* the window of losses */
    const struct network *network;
    find_network(check);
    network = check->network;
    if (!inspect_window(check, file, opened))
        return;
    if (network && (!inspect_network(check, file, opened, &network->graph, "", &found) ||
                    !inspect_others(check, file, opened, &network->graph, &found) ||
                    (network_has_discriminator(network) &&
                     !inspect_network(check, file, opened, &network->discriminator,
                                      "discriminator.", &found))))
        return;
    if (network && found != opened->count)
        check_damage(check, file, REMEDY_CHECKPOINT, _("it has %zu arrays, but the run needs %zu"),
                     opened->count, found);
    else
        check_values(check, file, opened, REMEDY_CHECKPOINT);
}

static size_t mark_of(const char *file)
{
    return strcmp(file, "checkpoint.safetensors") == 0 ? MARK_CHECKPOINT : MARK_PREVIOUS;
}

/* Checks the checksum and metadata of a checkpoint, and stores its position in the journal. This
 * must precede the journal's check. */
void check_checkpoint_mark(struct check *check, const char *file)
{
    struct safetensors opened;
    struct error error = {0};
    struct check_mark *mark = &check->marks[mark_of(file)];
    uint64_t iteration = 0;
    struct journal_mark end;
    char *path = check_path(check, file);
    const bool open = path && safetensors_open(&opened, path, &error);
    free(path);
    if (!path)
        return;
    if (!open) {
        check_damage_by(check, file, REMEDY_CHECKPOINT, &error);
        return;
    }
    const char *missing = checkpoint_missing(&opened);
    if (!safetensors_check(&opened, &error))
        check_damage_by(check, file, REMEDY_CHECKPOINT, &error);
    else if (missing)
        check_damage(check, file, REMEDY_CHECKPOINT, _("its \"tinca.%s\" is missing or invalid"),
                     missing);
    else if (checkpoint_place(&opened, &iteration, &end, NULL))
        *mark = (struct check_mark){
            .file = file, .end = end, .has_iteration = true, .iteration = iteration};
    safetensors_close(&opened);
}

void check_checkpoint(struct check *check, const char *file)
{
    struct safetensors opened;
    char *path = check->has_config ? check_path(check, file) : NULL;
    if (path &&
        safetensors_open(&opened, path, NULL)) { /* else the run has replaced it meanwhile */
        inspect_checkpoint(check, file, &opened);
        safetensors_close(&opened);
    }
    free(path);
}
