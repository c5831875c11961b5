/* All parameters are looked up before the first is read, so that an error can name all that is
 * wrong. */
#include "engine/weights/weights_match.h"

#include "base/language.h"
#include "engine/graph/name_pattern.h"
#include "engine/weights/safetensors.h"

#include <stdio.h>
#include <string.h>

/* What does not fit: how many arrays, and the first of them. */
struct misfits {
    size_t missing, different;
    const struct parameter *first_missing, *first_different;
    const struct safetensors_entry *found; /* instead of first_different */
};

static bool has_shape(const struct safetensors_entry *entry, const struct parameter *parameter)
{
    return safetensors_is_float(entry) && entry->rank == parameter->rank &&
           memcmp(entry->dims, parameter->dims, parameter->rank * sizeof *entry->dims) == 0;
}

/* Looks up every parameter that is not reset. */
static struct misfits find_misfits(const struct safetensors *file, const struct graph *graph,
                                   const char *reset)
{
    struct misfits misfits = {0};
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        const struct safetensors_entry *entry = safetensors_find(file, parameter->name);
        if (name_pattern_matches(reset, parameter->name))
            continue;
        if (!entry && misfits.missing++ == 0)
            misfits.first_missing = parameter;
        if (entry && !has_shape(entry, parameter) && misfits.different++ == 0) {
            misfits.first_different = parameter;
            misfits.found = entry;
        }
    }
    return misfits;
}

static char *write_shape(const size_t *dims, size_t rank, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%zu", i ? "x" : "", dims[i]);
    return text;
}

static bool refuse(const struct safetensors *file, const struct misfits *misfits,
                   struct error *error)
{
    char there[96], here[96];
    const struct parameter *different = misfits->first_different;
    const char *advice = N_("begin such layers anew with --reset, or take the network that the "
                            "file was saved from");
    if (!different)
        return error_set(error, ERROR_INPUT, file->path, advice,
                         "it lacks %zu arrays of the network, such as \"%s\"", misfits->missing,
                         misfits->first_missing->name);
    write_shape(misfits->found->dims, misfits->found->rank, there, sizeof there);
    write_shape(different->dims, different->rank, here, sizeof here);
    if (misfits->missing == 0)
        return error_set(error, ERROR_INPUT, file->path, advice,
                         "%zu arrays have another shape, such as \"%s\": %s in the file, %s in the "
                         "network",
                         misfits->different, different->name, there, here);
    return error_set(error, ERROR_INPUT, file->path, advice,
                     "%zu arrays have another shape, such as \"%s\": %s in the file, %s in the "
                     "network; %zu are missing",
                     misfits->different, different->name, there, here, misfits->missing);
}

static bool has_parameter(const struct graph *graph, const char *name)
{
    for (size_t p = 0; p < graph->parameter_count; p++)
        if (strcmp(graph->parameters[p].name, name) == 0)
            return true;
    return false;
}

static void count_unused(const struct safetensors *file, const struct graph *graph,
                         const char *reset, struct weights_match *match)
{
    for (size_t i = 0; i < file->count; i++) {
        const char *name = file->entries[i].name;
        if (has_parameter(graph, name) && !name_pattern_matches(reset, name))
            continue;
        if (match->unused++ == 0)
            snprintf(match->example, sizeof match->example, "%s", name);
    }
}

static bool read_all(struct safetensors *file, struct weights *weights, const char *reset,
                     struct weights_match *match, struct error *error)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        if (name_pattern_matches(reset, parameter->name)) {
            match->reset++;
            continue;
        }
        if (!safetensors_read_floats(file, safetensors_find(file, parameter->name), 0,
                                     parameter->count, weights->values + parameter->offset, error))
            return false;
        match->loaded++;
    }
    return true;
}

bool weights_begin(struct weights *weights, const char *path, const char *reset,
                   struct weights_match *match, struct error *error)
{
    struct safetensors file;
    *match = (struct weights_match){0};
    if (!name_pattern_check(reset, weights->graph, "--reset", error) ||
        !safetensors_open(&file, path, error))
        return false;
    const struct misfits misfits = find_misfits(&file, weights->graph, reset);
    const bool fits = misfits.missing + misfits.different == 0 || refuse(&file, &misfits, error);
    const bool read = fits &&
                      (!safetensors_has_checksum(&file) || safetensors_check(&file, error)) &&
                      read_all(&file, weights, reset, match, error);
    count_unused(&file, weights->graph, reset, match);
    safetensors_close(&file);
    weights_mark_changed(weights);
    return read;
}
