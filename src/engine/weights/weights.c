/* Initial values are drawn in blocks of fixed size, each from its position in the random stream of
 * its parameter, so they depend on the seed only and not on the number of threads. Files are
 * written from and read into host memory: saving first copies the weights from the device, and
 * loading marks the device's copy as outdated. */
#include "engine/weights/weights.h"

#include "base/float16.h"
#include "base/host/memory_room.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads/pool.h"
#include "engine/devices/device_buffer.h"
#include "engine/weights/safetensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool weights_create(struct weights *weights, const struct graph *graph, struct error *error)
{
    *weights = (struct weights){.graph = graph, .version = 1};
    if (!memory_room_check("the weights", graph->total_floats * sizeof *weights->values, error))
        return false;
    weights->values =
        memory_new_aligned(graph->total_floats, sizeof *weights->values, "the weights", error);
    if (weights->values)
        memset(weights->values, 0, graph->total_floats * sizeof *weights->values);
    return weights->values;
}

void weights_free(struct weights *weights)
{
    device_buffer_free(weights->buffer);
    free(weights->values);
    *weights = (struct weights){0};
}

/* --- the device's copy --- */

float *weights_on_device(struct weights *weights, struct device *device, struct error *error)
{
    if (device->driver->computes_on_host)
        return weights->values;
    if (!weights->buffer)
        weights->buffer = device_buffer_create(device, weights->values,
                                               weights->graph->total_floats, "the weights", error);
    if (weights->buffer && weights->buffer->device != device) {
        error_set(error, ERROR_UNSUPPORTED, device->name, NULL,
                  "these weights are already on the device %s", weights->buffer->device->name);
        return NULL;
    }
    return weights->buffer ? weights->buffer->on_device : NULL;
}

bool weights_fetch(const struct weights *weights, struct error *error)
{
    return !weights->buffer || device_buffer_fetch(weights->buffer, error);
}

void weights_mark_changed(struct weights *weights)
{
    weights->version++;
    if (weights->buffer)
        device_buffer_touch_host(weights->buffer);
}

static bool same_shape(const struct parameter *a, const struct parameter *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

bool weights_copy_common(struct weights *to, const struct weights *from, struct error *error)
{
    if (!weights_fetch(from, error))
        return false;
    for (size_t p = 0; p < to->graph->parameter_count; p++) {
        const struct parameter *wanted = &to->graph->parameters[p];
        const struct parameter *found = graph_find_parameter(from->graph, wanted->name);
        if (found && same_shape(wanted, found))
            memcpy(to->values + wanted->offset, from->values + found->offset,
                   wanted->count * sizeof *to->values);
    }
    weights_mark_changed(to);
    return true;
}

/* --- initial values --- */

enum { INITIALISE_BLOCK = 1 << 16 }; /* values per task */

/* The initialisation of one parameter. */
struct initialisation {
    const struct parameter *parameter;
    float *values;
    uint64_t seed;
    uint32_t stream;
};

/* Draws values in [-limit, limit), four from each block of random numbers. */
static void initialise_uniform(const struct initialisation *work, float limit, size_t first,
                               size_t count)
{
    for (size_t i = first; i < first + count; i += 4) {
        struct random_block block =
            random_philox(work->seed, RANDOM_INITIALISE, work->stream, i / 4);
        for (size_t k = 0; k < 4 && i + k < first + count; k++)
            work->values[i + k] = -limit + 2 * limit * random_to_unit(block.word[k]);
    }
}

static void initialise_block(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct initialisation *work = context;
    const struct initialiser *init = &work->parameter->init;
    float fan_in = (float)work->parameter->fan_in;
    size_t first = task * INITIALISE_BLOCK, left = work->parameter->count - first;
    size_t count = left < INITIALISE_BLOCK ? left : INITIALISE_BLOCK;
    switch (init->kind) {
    case INITIALISE_CONSTANT:
        for (size_t i = first; i < first + count; i++)
            work->values[i] = init->value;
        break;
    case INITIALISE_XAVIER:
        initialise_uniform(work, sqrtf(3 / fan_in), first, count);
        break;
    case INITIALISE_GAUSSIAN:
    case INITIALISE_HE:
        random_fill_gaussian(work->seed, RANDOM_INITIALISE, work->stream, first, 0,
                             init->kind == INITIALISE_HE ? sqrtf(2 / fan_in) : init->value,
                             work->values + first, count);
        break;
    }
}

void weights_initialise(struct weights *weights, uint64_t seed, struct pool *pool)
{
    const struct graph *graph = weights->graph;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[p];
        struct initialisation work = {.parameter = parameter,
                                      .values = weights->values + parameter->offset,
                                      .seed = seed,
                                      .stream = (uint32_t)p};
        size_t blocks = (parameter->count + INITIALISE_BLOCK - 1) / INITIALISE_BLOCK;
        if (pool)
            pool_run(pool, blocks, initialise_block, &work);
        for (size_t block = 0; !pool && block < blocks; block++)
            initialise_block(&work, block, 0);
    }
    weights_mark_changed(weights);
}

/* --- files --- */

const char *const weights_format_names[WEIGHTS_FORMATS + 1] = {"float32", "bf16", "float16"};

enum weights_format weights_format_of(const struct safetensors *file)
{
    enum weights_format format = WEIGHTS_FLOAT32;
    for (size_t i = 0; i < file->count; i++)
        if (file->entries[i].type == SAFETENSORS_BF16)
            format = WEIGHTS_BF16;
        else if (file->entries[i].type == SAFETENSORS_F16)
            format = WEIGHTS_FLOAT16;
    return format;
}

static bool fits_float16(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && isinf(float16_to_float(float16_from_float(values[i]))))
            return false;
    return true;
}

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Returns whether the layer of a parameter has quantized weights. */
static bool is_quantized(const struct graph *graph, const struct parameter *parameter)
{
    const struct node *node = &graph->nodes[parameter->node];
    return graph_weight_scale(graph, &graph->parameters[node->parameters[0]]);
}

enum safetensors_type weights_stored_type(const struct weights *weights,
                                          const struct parameter *parameter,
                                          enum weights_format format)
{
    const float *values = weights->values + parameter->offset;
    if (graph_weight_scale(weights->graph, parameter) && all_finite(values, parameter->count))
        return SAFETENSORS_I8;
    if (!parameter->learnable || format == WEIGHTS_FLOAT32 ||
        is_quantized(weights->graph, parameter) ||
        (format == WEIGHTS_FLOAT16 && !fits_float16(values, parameter->count)))
        return SAFETENSORS_F32;
    return format == WEIGHTS_BF16 ? SAFETENSORS_BF16 : SAFETENSORS_F16;
}

bool weights_rounding_source(const struct safetensors_array *array, uint64_t first, size_t count,
                             void *out, struct error *error)
{
    const struct weights_rounding *rounding = array->context;
    const float *values = rounding->values + first;
    int8_t *integers = out;
    uint16_t *halves = out;
    (void)error;
    for (size_t i = 0; i < count; i++)
        if (array->type == SAFETENSORS_I8)
            integers[i] =
                quantization_round_weight(rounding->scales[(first + i) / rounding->row], values[i]);
        else if (array->type == SAFETENSORS_BF16)
            halves[i] = bf16_from_float(values[i]);
        else
            halves[i] = float16_from_float(values[i]);
    return true;
}

/* Describes a parameter as an array that borrows `rounding`. */
static struct safetensors_array describe(const struct weights *weights,
                                         const struct parameter *parameter,
                                         enum weights_format format,
                                         struct weights_rounding *rounding)
{
    const float *values = weights->values + parameter->offset;
    const struct parameter *scale = graph_weight_scale(weights->graph, parameter);
    struct safetensors_array array = {.name = parameter->name,
                                      .type = weights_stored_type(weights, parameter, format),
                                      .rank = parameter->rank};
    memcpy(array.dims, parameter->dims, sizeof array.dims);
    if (array.type == SAFETENSORS_F32) {
        array.data = values;
        return array;
    }
    *rounding = (struct weights_rounding){.values = values,
                                          .scales = scale ? weights->values + scale->offset : NULL,
                                          .row = parameter->count / parameter->dims[0]};
    array.source = weights_rounding_source;
    array.context = rounding;
    return array;
}

bool weights_save(const struct weights *weights, enum weights_format format, const char *path,
                  const char *const *metadata, struct error *error)
{
    const struct graph *graph = weights->graph;
    const size_t count = graph->parameter_count;
    if (!weights_fetch(weights, error))
        return false;
    struct safetensors_array *arrays =
        memory_new(count, sizeof *arrays, "the weights' header", error);
    struct weights_rounding *roundings =
        memory_new(count, sizeof *roundings, "the weights' header", error);
    const bool ready = arrays && roundings;
    for (size_t p = 0; ready && p < count; p++)
        arrays[p] = describe(weights, &graph->parameters[p], format, &roundings[p]);
    const bool saved = ready && safetensors_write(path, arrays, count, metadata, error);
    free(arrays);
    free(roundings);
    return saved;
}

bool weights_check_scales(const struct parameter *parameter, const float *values, const char *path,
                          struct error *error)
{
    if (!parameter_is_weight_scale(parameter))
        return true;
    for (size_t i = 0; i < parameter->count; i++)
        if (!(values[i] > 0) || isinf(values[i] * QUANTIZED_WEIGHT_MAX))
            return error_set(error, ERROR_INPUT, path, "the file is damaged; use an intact copy",
                             "\"%s\": a scale of %g; scales are above 0, and weights finite",
                             parameter->name, (double)values[i]);
    return true;
}

static bool load_parameter(struct safetensors *file, const struct parameter *parameter,
                           float *values, struct error *error)
{
    const char *advice = N_("load it into the network that it was saved from");
    const struct safetensors_entry *entry = safetensors_find(file, parameter->name);
    if (!entry)
        return error_set(error, ERROR_INPUT, file->path, advice, "it has no \"%s\"",
                         parameter->name);
    const bool same =
        entry->rank == parameter->rank &&
        memcmp(entry->dims, parameter->dims, parameter->rank * sizeof *entry->dims) == 0;
    if (same && entry->type == SAFETENSORS_I8 && !safetensors_has_numbers(file, entry))
        return error_set(error, ERROR_INPUT, file->path, advice,
                         "it has no \"%s_scale\" that fits the integers", parameter->name);
    if (!same || !safetensors_has_numbers(file, entry))
        return error_set(error, ERROR_INPUT, file->path, advice,
                         "\"%s\" has a different shape or type than in the network (%zu values)",
                         parameter->name, parameter->count);
    return safetensors_read_floats(file, entry, 0, parameter->count, values, error) &&
           weights_check_scales(parameter, values, file->path, error);
}

bool weights_read(struct weights *weights, struct safetensors *file, struct error *error)
{
    bool loaded = !safetensors_has_checksum(file) || safetensors_check(file, error);
    for (size_t p = 0; loaded && p < weights->graph->parameter_count; p++) {
        const struct parameter *parameter = &weights->graph->parameters[p];
        loaded = load_parameter(file, parameter, weights->values + parameter->offset, error);
    }
    weights_mark_changed(weights);
    return loaded;
}

bool weights_load(struct weights *weights, const char *path, struct error *error)
{
    struct safetensors file;
    if (!safetensors_open(&file, path, error))
        return false;
    const bool loaded = weights_read(weights, &file, error);
    safetensors_close(&file);
    return loaded;
}
