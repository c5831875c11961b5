/* All parameters are looked up before the first is read, so that an error can name all that is
 * wrong. A mapping renames the entries of the opened file in memory, so the rest sees the network's
 * names only. */
#include "engine/weights/weights_match.h"

#include "base/memory.h"
#include "engine/graph/name_pattern.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "engine/weights/weights_misfits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_shape(const struct safetensors *file, const struct safetensors_entry *entry,
                      const struct parameter *parameter)
{
    return safetensors_has_numbers(file, entry) && entry->rank == parameter->rank &&
           memcmp(entry->dims, parameter->dims, parameter->rank * sizeof *entry->dims) == 0;
}

/* --- the pairing --- */

/* Returns whether the file's array has the parameter's shape for another number of outputs. */
static bool has_other_outputs(const struct safetensors *file, const struct safetensors_entry *entry,
                              const struct parameter *parameter)
{
    return safetensors_has_numbers(file, entry) && entry->rank == parameter->rank &&
           entry->dims[0] != parameter->dims[0] &&
           memcmp(entry->dims + 1, parameter->dims + 1,
                  (parameter->rank - 1) * sizeof *entry->dims) == 0;
}

/* Returns whether a parameter keeps its values although the file has some for it. */
static bool is_reset(const struct weights_pairing *pairing, const struct parameter *parameter)
{
    const struct safetensors_entry *found;
    if (name_pattern_matches(pairing->reset, parameter->name))
        return true;
    if (pairing->outputs == WEIGHTS_OUTPUTS_READ || !pairing->is_output[parameter->node])
        return false;
    found = safetensors_find(&pairing->file, parameter->name);
    return pairing->outputs == WEIGHTS_OUTPUTS_RESET ||
           (found && has_other_outputs(&pairing->file, found, parameter));
}

enum weights_fit weights_pairing_fit(const struct weights_pairing *pairing,
                                     const struct parameter *parameter, size_t *entry)
{
    const struct safetensors_entry *found = safetensors_find(&pairing->file, parameter->name);
    if (is_reset(pairing, parameter))
        return WEIGHTS_FIT_RESET;
    if (!found)
        return weights_names_is_identity(&pairing->mapping, parameter->name) ? WEIGHTS_FIT_IDENTITY
                                                                             : WEIGHTS_FIT_MISSING;
    *entry = (size_t)(found - pairing->file.entries);
    return has_shape(&pairing->file, found, parameter) ? WEIGHTS_FIT_LOADED : WEIGHTS_FIT_SHAPE;
}

size_t weights_pairing_misfits(const struct weights_pairing *pairing)
{
    size_t misfits = 0, entry;
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const enum weights_fit fit =
            weights_pairing_fit(pairing, &pairing->graph->parameters[p], &entry);
        misfits += fit == WEIGHTS_FIT_MISSING || fit == WEIGHTS_FIT_SHAPE;
    }
    return misfits;
}

size_t weights_pairing_unused(const struct weights_pairing *pairing)
{
    size_t unused = 0;
    for (size_t i = 0; i < pairing->file.count; i++)
        unused += !weights_pairing_uses(pairing, i);
    return unused;
}

/* Renames the entries by the pairing's mapping. */
static bool rename_entries(struct weights_pairing *pairing, struct error *error)
{
    for (size_t i = 0; i < pairing->file.count; i++)
        weights_names_translate(&pairing->mapping, pairing->original[i].name,
                                pairing->file.entries[i].name,
                                sizeof pairing->file.entries[i].name);
    return safetensors_index_names(&pairing->file, error);
}

static bool use_mapping(struct weights_pairing *pairing, const char *name, struct error *error)
{
    weights_names_free(&pairing->mapping);
    pairing->names[0] = '\0';
    if (name[0] && !weights_names_read(&pairing->mapping, name, error))
        return false;
    snprintf(pairing->names, sizeof pairing->names, "%s", name);
    return rename_entries(pairing, error);
}

/* Takes the built-in mapping with the fewest misfits, or none; of those with as many, the one that
 * leaves the fewest arrays of the file unused. */
static bool choose_mapping(struct weights_pairing *pairing, struct error *error)
{
    size_t fewest = weights_pairing_misfits(pairing), least = weights_pairing_unused(pairing);
    const char *best = "";
    for (size_t i = 0; fewest + least > 0 && i < weights_names_builtin_count; i++) {
        if (!use_mapping(pairing, weights_names_builtins[i].name, error))
            return false;
        const size_t misfits = weights_pairing_misfits(pairing);
        const size_t unused = weights_pairing_unused(pairing);
        if (misfits < fewest || (misfits == fewest && unused < least)) {
            fewest = misfits;
            least = unused;
            best = weights_names_builtins[i].name;
        }
    }
    return use_mapping(pairing, best, error);
}

bool weights_pairing_open(struct weights_pairing *pairing, const struct graph *graph,
                          const struct weights_source *source, struct error *error)
{
    *pairing = (struct weights_pairing){
        .graph = graph, .reset = source->reset, .outputs = source->outputs};
    if (!name_pattern_check(source->reset, graph, "--reset", error) ||
        !safetensors_open(&pairing->file, source->path, error))
        return false;
    const size_t count = pairing->file.count;
    pairing->original =
        memory_new(count ? count : 1, sizeof *pairing->original, source->path, error);
    pairing->is_output =
        memory_new(graph->node_count, sizeof *pairing->is_output, source->path, error);
    if (pairing->original && count)
        memcpy(pairing->original, pairing->file.entries, count * sizeof *pairing->original);
    if (pairing->is_output)
        graph_mark_outputs(graph, pairing->is_output); /* none, if other layers read them */
    if (pairing->original && pairing->is_output &&
        (source->names[0] ? use_mapping(pairing, source->names, error)
                          : choose_mapping(pairing, error)))
        return true;
    weights_pairing_close(pairing);
    return false;
}

void weights_pairing_close(struct weights_pairing *pairing)
{
    weights_names_free(&pairing->mapping);
    free(pairing->original);
    free(pairing->is_output);
    safetensors_close(&pairing->file);
    *pairing = (struct weights_pairing){0};
}

/* Returns the parameter that an entry is subtracted from, or NULL. */
static const struct parameter *find_reduced(const struct weights_pairing *pairing, size_t i)
{
    char target[sizeof pairing->file.entries->name];
    if (!weights_names_subtracts(&pairing->mapping, pairing->original[i].name, target,
                                 sizeof target))
        return NULL;
    const struct parameter *parameter = graph_find_parameter(pairing->graph, target);
    return parameter && has_shape(&pairing->file, &pairing->file.entries[i], parameter) ? parameter
                                                                                        : NULL;
}

bool weights_pairing_uses(const struct weights_pairing *pairing, size_t i)
{
    if (weights_names_is_counter(pairing->original[i].name))
        return true;
    const struct parameter *parameter =
        graph_find_parameter(pairing->graph, pairing->file.entries[i].name);
    if (!parameter)
        parameter = find_reduced(pairing, i);
    return parameter && !is_reset(pairing, parameter);
}

static void count_unused(const struct weights_pairing *pairing, struct weights_match *match)
{
    for (size_t i = 0; i < pairing->file.count; i++)
        if (!weights_pairing_uses(pairing, i) && match->unused++ == 0)
            snprintf(match->example, sizeof match->example, "%s", pairing->original[i].name);
}

/* Returns how many outputs the file's output layers have, if those of the network begin anew. */
static size_t outputs_reset(const struct weights_pairing *pairing)
{
    for (size_t p = 0; p < pairing->graph->parameter_count; p++) {
        const struct parameter *parameter = &pairing->graph->parameters[p];
        const struct safetensors_entry *found = safetensors_find(&pairing->file, parameter->name);
        if (found && found->rank > 0 && pairing->is_output[parameter->node] &&
            is_reset(pairing, parameter))
            return found->dims[0];
    }
    return 0;
}

/* --- reading --- */

void weights_fill_identity(const struct graph *graph, const struct parameter *parameter,
                           float *values)
{
    const char *suffix = strrchr(parameter->name, '.');
    const size_t *dims = parameter->dims;
    for (size_t i = 0; i < parameter->count; i++)
        values[i] = parameter->rank == 1 && strcmp(suffix, ".weight") == 0 ? 1 : 0;
    if (strcmp(suffix, ".running_var") == 0)
        for (size_t i = 0; i < parameter->count; i++)
            values[i] = 1 - graph->nodes[parameter->node].attributes.batch_norm.epsilon;
    if (parameter->rank != 4)
        return;
    const size_t kernel = dims[2] * dims[3], before = dims[0] > dims[1] ? dims[0] - dims[1] : 0;
    for (size_t c = 0; c < dims[1] && c + before / 2 < dims[0]; c++)
        values[((c + before / 2) * dims[1] + c) * kernel + kernel / 2] = 1;
}

static bool read_parameter(struct weights_pairing *pairing, const struct parameter *parameter,
                           float *values, struct weights_match *match, struct error *error)
{
    size_t entry = 0;
    switch (weights_pairing_fit(pairing, parameter, &entry)) {
    case WEIGHTS_FIT_LOADED:
        match->loaded++;
        return safetensors_read_floats(&pairing->file, &pairing->file.entries[entry], 0,
                                       parameter->count, values, error) &&
               weights_check_scales(parameter, values, pairing->file.path, error);
    case WEIGHTS_FIT_IDENTITY:
        match->identities++;
        weights_fill_identity(pairing->graph, parameter, values);
        return true;
    case WEIGHTS_FIT_RESET:
        match->reset++;
        return true;
    default: /* weights_begin has refused it */
        return true;
    }
}

/* Subtracts the entries that the mapping lists. */
static bool subtract(struct weights_pairing *pairing, struct weights *weights, struct error *error)
{
    bool read = true;
    for (size_t i = 0; read && i < pairing->file.count; i++) {
        const struct parameter *parameter = find_reduced(pairing, i);
        if (!parameter || is_reset(pairing, parameter))
            continue;
        float *values = memory_new(parameter->count, sizeof *values, "an array", error);
        read = values && safetensors_read_floats(&pairing->file, &pairing->file.entries[i], 0,
                                                 parameter->count, values, error);
        for (size_t v = 0; read && v < parameter->count; v++)
            weights->values[parameter->offset + v] -= values[v];
        free(values);
    }
    return read;
}

static bool read_all(struct weights_pairing *pairing, struct weights *weights,
                     struct weights_match *match, struct error *error)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (!read_parameter(pairing, &graph->parameters[p],
                            weights->values + graph->parameters[p].offset, match, error))
            return false;
    return subtract(pairing, weights, error);
}

bool weights_begin(struct weights *weights, const struct weights_source *source,
                   struct weights_match *match, struct error *error)
{
    struct weights_pairing pairing;
    *match = (struct weights_match){0};
    if (!weights_pairing_open(&pairing, weights->graph, source, error))
        return false;
    const bool fits =
        weights_pairing_misfits(&pairing) == 0 || weights_misfits_refuse(&pairing, error);
    const bool read =
        fits &&
        (!safetensors_has_checksum(&pairing.file) || safetensors_check(&pairing.file, error)) &&
        read_all(&pairing, weights, match, error);
    count_unused(&pairing, match);
    match->outputs = outputs_reset(&pairing);
    snprintf(match->names, sizeof match->names, "%s", pairing.names);
    weights_pairing_close(&pairing);
    weights_mark_changed(weights);
    return read;
}

/* --- the order of the outputs --- */

/* Returns whether the layer computes each channel by itself, so that the channels may change
 * places. */
static bool ignores_order(const struct node *node)
{
    const struct op *op = node->op;
    return op != &op_lrn && op != &op_channel_shuffle && op != &op_channel_shift &&
           (op != &op_conv || node->attributes.conv.groups == 1);
}

/* Puts the rows of an array, one for each output, into another order. */
static bool order_rows(const struct parameter *parameter, const size_t *numbers, float *values,
                       struct error *error)
{
    const size_t rows = parameter->dims[0], length = parameter->count / rows;
    float *before = memory_new(parameter->count, sizeof *before, "the output layers", error);
    if (!before)
        return false;
    memcpy(before, values, parameter->count * sizeof *before);
    for (size_t i = 0; i < rows; i++)
        memcpy(values + i * length, before + numbers[i] * length, length * sizeof *before);
    free(before);
    return true;
}

/* Returns whether the outputs can change places, and marks their layers. */
static bool mark_ordered(const struct graph *graph, bool *marks)
{
    bool can = graph_mark_outputs(graph, marks);
    for (size_t i = 0; can && i < graph->node_count; i++)
        can = !marks[i] || ignores_order(&graph->nodes[i]);
    return can;
}

bool weights_order_outputs(struct weights *weights, const size_t *numbers, struct error *error)
{
    const struct graph *graph = weights->graph;
    bool *marks = memory_new(graph->node_count, sizeof *marks, "the output layers", error);
    bool ordered = marks;
    if (marks && !mark_ordered(graph, marks))
        ordered = error_set(error, ERROR_UNSUPPORTED, "the output layers",
                            "list the pictures in a file (list:FILE) with the numbers of the "
                            "model's classes",
                            "the data has the model's classes in another order, but the outputs "
                            "of this network cannot change places");
    for (size_t p = 0; ordered && p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (marks[parameter->node] && parameter->rank > 0 &&
            parameter->dims[0] == graph_classes(graph))
            ordered = order_rows(parameter, numbers, weights->values + parameter->offset, error);
    }
    free(marks);
    weights_mark_changed(weights);
    return ordered;
}
