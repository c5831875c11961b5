/* The arrays are collected first, and then written from the largest type to the smallest, so that
 * each begins at a multiple of its size, as PyTorch's views of the file need. */
#include "exchange/frame/exporter.h"

#include "base/float16.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "engine/weights/weights_match.h"
#include "engine/weights/weights_names.h"
#include "models/saved/model_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/* The numbers of arrays in a file, and the form of its names. */
struct counts {
    size_t arrays;     /* without the counters */
    size_t counters;   /* num_batches_tracked of batch norms, which are 0 */
    size_t zeros;      /* arrays that the network does not need, and PyTorch's does */
    size_t identities; /* arrays that were left out: PyTorch's network has none there */
    char names[WEIGHTS_NAMES_SIZE];
};

/* The arrays of the file. */
struct state {
    const struct weights *weights;
    const struct weights_names *names;
    enum weights_format format;
    struct safetensors_array *arrays;
    char (*array_names)[NAME_SIZE];
    void **buffers; /* what the arrays own: zeros, or how they are rounded */
    size_t count;
};

/* Adds an array of this type, whose data is `owned` and freed with the state, or else `data`. */
static void add(struct state *state, const char *name, enum safetensors_type type,
                const struct parameter *shape, const void *data, void *owned)
{
    struct safetensors_array *array = &state->arrays[state->count];
    snprintf(state->array_names[state->count], NAME_SIZE, "%s", name);
    *array = (struct safetensors_array){.name = state->array_names[state->count],
                                        .type = type,
                                        .rank = shape ? shape->rank : 0,
                                        .data = owned ? owned : data};
    if (shape)
        memcpy(array->dims, shape->dims, sizeof array->dims);
    state->buffers[state->count++] = owned;
}

/* Adds a parameter under this name, rounded to its type; with `zero`, zeros of its shape. */
static bool add_rounded(struct state *state, const char *name, const struct parameter *parameter,
                        enum safetensors_type type, bool zero, struct error *error)
{
    const float *values = state->weights->values + parameter->offset;
    if (type == SAFETENSORS_F32 && !zero) {
        add(state, name, type, parameter, values, NULL);
        return true;
    }
    struct weights_rounding *rounding = NULL;
    void *zeros = zero ? memory_new(parameter->count, sizeof *values, "the weights", error)
                       : (rounding = memory_new(1, sizeof *rounding, "the weights", error));
    if (!zeros)
        return false;
    add(state, name, type, parameter, NULL, zeros);
    if (rounding) {
        struct safetensors_array *array = &state->arrays[state->count - 1];
        rounding->values = values;
        array->data = NULL;
        array->source = weights_rounding_source;
        array->context = rounding;
    }
    return true;
}

static enum safetensors_type type_of(enum weights_format format)
{
    return format == WEIGHTS_BF16      ? SAFETENSORS_BF16
           : format == WEIGHTS_FLOAT16 ? SAFETENSORS_F16
                                       : SAFETENSORS_F32;
}

/* Adds what PyTorch's network has beside a parameter: the bias that is subtracted from it, and the
 * counter of a batch norm. `name` is the parameter's in the file. */
static bool add_beside(struct state *state, const struct parameter *parameter, const char *name,
                       struct counts *counts, struct error *error)
{
    static const char mean[] = ".running_mean";
    static const int64_t no_batches = 0;
    char other[NAME_SIZE];
    const size_t length = strlen(name), tail = sizeof mean - 1;
    if (weights_names_subtracted(state->names, parameter->name, other, sizeof other)) {
        if (!add_rounded(state, other, parameter, type_of(state->format), true, error))
            return false;
        counts->zeros++;
    }
    if (!weights_names_has_counters(state->names) || length < tail ||
        strcmp(name + length - tail, mean) != 0)
        return true;
    if (snprintf(other, sizeof other, "%.*s.num_batches_tracked", (int)(length - tail), name) >=
        (int)sizeof other)
        return error_set(error, ERROR_INPUT, name, "give the layer a shorter name",
                         "the name of an array has more than %d characters", NAME_SIZE - 1);
    add(state, other, SAFETENSORS_I64, NULL, &no_batches, NULL);
    counts->counters++;
    return true;
}

/* --- identities --- */

static size_t block_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    while (dot && dot > name && *--dot != '.')
        ;
    return dot ? (size_t)(dot - name) : 0;
}

static bool is_identity(const struct weights *weights, const struct parameter *parameter,
                        bool *identity, struct error *error)
{
    float *wanted = memory_new(parameter->count, sizeof *wanted, "the weights", error);
    if (!wanted)
        return false;
    weights_fill_identity(weights->graph, parameter, wanted);
    *identity =
        memcmp(wanted, weights->values + parameter->offset, parameter->count * sizeof *wanted) == 0;
    free(wanted);
    return true;
}

/* Sets *left_out to whether a parameter is an identity of the mapping, as are all of its block, the
 * layers whose names begin like its own. Returns false with an error if out of memory. */
static bool find_identity(const struct state *state, const struct parameter *parameter,
                          bool *left_out, struct error *error)
{
    const struct graph *graph = state->weights->graph;
    const size_t length = block_length(parameter->name);
    *left_out = weights_names_is_identity(state->names, parameter->name);
    for (size_t p = 0; *left_out && p < graph->parameter_count; p++) {
        const struct parameter *other = &graph->parameters[p];
        if (block_length(other->name) == length &&
            strncmp(other->name, parameter->name, length) == 0 &&
            weights_names_is_identity(state->names, other->name) &&
            !is_identity(state->weights, other, left_out, error))
            return false;
    }
    return true;
}

/* --- the file --- */

static bool add_parameter(struct state *state, const struct parameter *parameter,
                          struct counts *counts, struct error *error)
{
    char name[NAME_SIZE];
    bool left_out;
    if (!find_identity(state, parameter, &left_out, error))
        return false;
    if (left_out) {
        counts->identities++;
        return true;
    }
    if (!weights_names_translate_back(state->names, parameter->name, name, sizeof name))
        return error_set(error, ERROR_INPUT, parameter->name,
                         "choose another one with --names, or add a pair of names to it",
                         "the mapping %s has no name for this array", counts->names);
    counts->arrays++;
    return add_rounded(state, name, parameter,
                       weights_stored_type(state->weights, parameter, state->format), false,
                       error) &&
           add_beside(state, parameter, name, counts, error);
}

static size_t size_of(enum safetensors_type type)
{
    return type == SAFETENSORS_I64 ? 8 : type == SAFETENSORS_F32 ? 4 : 2;
}

/* Moves arrays of larger types before those of smaller ones, and keeps their order otherwise. */
static bool sort(struct state *state, struct error *error)
{
    size_t done = 0;
    struct safetensors_array *sorted =
        memory_new(state->count + 1, sizeof *sorted, "the weights' header", error);
    for (size_t size = 8; sorted && size >= 2; size /= 2)
        for (size_t i = 0; i < state->count; i++)
            if (size_of(state->arrays[i].type) == size)
                sorted[done++] = state->arrays[i];
    if (!sorted)
        return false;
    free(state->arrays);
    state->arrays = sorted;
    return true;
}

static bool write_state(struct state *state, const struct network *network, const char *path,
                        struct counts *counts, struct error *error)
{
    const struct graph *graph = state->weights->graph;
    const size_t most = 3 * graph->parameter_count + 1;
    char name[NETWORK_SHORT_NAME + 64];
    network_full_name(network, name, sizeof name);
    const char *metadata[] = {"format", "pt", "network", name, "names", counts->names, NULL};
    state->arrays = memory_new(most, sizeof *state->arrays, "the weights' header", error);
    state->array_names = memory_new(most, sizeof *state->array_names, "the names", error);
    state->buffers = memory_new(most, sizeof *state->buffers, "the weights", error);
    bool good = state->arrays && state->array_names && state->buffers;
    for (size_t p = 0; good && p < graph->parameter_count; p++)
        good = add_parameter(state, &graph->parameters[p], counts, error);
    good = good && sort(state, error) &&
           safetensors_write(path, state->arrays, state->count, metadata, error);
    for (size_t i = 0; i < state->count; i++)
        free(state->buffers[i]);
    free(state->buffers);
    free(state->array_names);
    free(state->arrays);
    return good;
}

static bool export_model(const struct model_export *export, const struct exporter_model *exported,
                         const char *path, struct counts *counts, struct error *error)
{
    struct weights_names names;
    const struct model *model = &exported->model;
    const char *chosen =
        export->names[0] ? export->names : weights_names_of_network(model->network->name);
    if (graph_is_quantized(&model->network->graph))
        return error_set(error, ERROR_UNSUPPORTED, export->model,
                         "export the model that it was made from, or use --format onnx",
                         "a state dict cannot hold the grids of a quantized network");
    if (!weights_names_read(&names, chosen, error))
        return false;
    snprintf(counts->names, sizeof counts->names, "%s", chosen);
    struct state state = {.weights = &model->weights, .names = &names, .format = exported->format};
    const bool written = write_state(&state, model->network, path, counts, error);
    weights_names_free(&names);
    return written;
}

static void report_arrays(const struct counts *counts, const char *path, struct text *out)
{
    if (strcmp(counts->names, WEIGHTS_NAMES_OWN) == 0)
        exchange_tell(out,
                      ngettext("%s: %zu array, with the names of the network\n",
                               "%s: %zu arrays, with the names of the network\n", counts->arrays),
                      path, counts->arrays);
    else
        exchange_tell(out,
                      ngettext("%s: %zu array, with the names of the mapping %s\n",
                               "%s: %zu arrays, with the names of the mapping %s\n",
                               counts->arrays),
                      path, counts->arrays, counts->names);
    if (counts->counters)
        exchange_tell(out,
                      ngettext("  and %zu counter num_batches_tracked, which is 0\n",
                               "  and %zu counters num_batches_tracked, which are 0\n",
                               counts->counters),
                      counts->counters);
    if (counts->zeros)
        exchange_tell(
            out,
            ngettext("  and %zu bias that PyTorch's network has and this one needs not: "
                     "zeros\n",
                     "  and %zu biases that PyTorch's network has and this one needs not: "
                     "zeros\n",
                     counts->zeros),
            counts->zeros);
    if (counts->identities)
        exchange_tell(out,
                      ngettext("  without %zu array that changes nothing\n",
                               "  without %zu arrays that change nothing\n", counts->identities),
                      counts->identities);
}

bool torch_export(const struct model_export *export, const char *path,
                  struct exchange_report *report, struct error *error)
{
    struct exporter_model exported;
    struct counts counts = {0};
    if (!model_output_check(export->model, path, error))
        return false;
    const bool done = exporter_open(&exported, export, &(struct model_use){0}, error) &&
                      export_model(export, &exported, path, &counts, error);
    exporter_close(&exported);
    report_arrays(&counts, path, &report->result);
    return done;
}
