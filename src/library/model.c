/* A model in memory: the network that its file describes, and its weights in float32. The file, or
 * the bytes, are read once, and everything in them is checked before it is used. */
#include "config.h"

#include "library/library.h"

#include "base/memory.h"
#include "engine/weights/safetensors.h"
#include "models/saved/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TINCA_EXPORT const char *tinca_version(void)
{
    return PACKAGE_VERSION;
}

/* --- reading --- */

/* Returns whether a file is long enough for its network, whose weights have a byte each at least.
 * Without this, a short file could ask for any amount of memory. */
static bool check_size(const struct tinca_model *model, const struct safetensors *file,
                       struct error *error)
{
    const struct graph *graph = &model->saved.network->graph;
    uint64_t values = 0, stored = 0;
    for (size_t i = 0; i < graph->parameter_count; i++)
        values += graph->parameters[i].count;
    for (size_t i = 0; i < file->count; i++)
        stored += file->entries[i].bytes;
    return values <= stored ||
           error_set(error, ERROR_INPUT, file->path, "use an intact copy",
                     "its network needs %llu weights, and it has %llu bytes of them",
                     (unsigned long long)values, (unsigned long long)stored);
}

static bool read_model(struct tinca_model *model, struct safetensors *file, struct error *error)
{
    struct model *saved = &model->saved;
    if (!model_describe(saved, file, error) || !check_size(model, file, error) ||
        !weights_create(&saved->weights, &saved->network->graph, error) ||
        !weights_read(&saved->weights, file, error))
        return false;
    network_full_name(saved->network, model->name, sizeof model->name);
    model->output = saved->network->graph.nodes[saved->network->graph.output].output;
    sample_table_fill(&model->table, &saved->preprocessing.normalisation);
    return true;
}

static void free_model(struct tinca_model *model)
{
    weights_free(&model->saved.weights);
    network_free(model->saved.network);
    free(model->saved.class_names);
    pthread_mutex_destroy(&model->lock);
    free(model);
}

/* Makes a model of an open file, which it closes. */
static struct tinca_model *make_model(struct safetensors *file, struct error *error)
{
    struct tinca_model *model = memory_new(1, sizeof *model, "a model", error);
    if (model) {
        pthread_mutex_init(&model->lock, NULL);
        if (!read_model(model, file, error)) {
            free_model(model);
            model = NULL;
        }
    }
    safetensors_close(file);
    return model;
}

TINCA_EXPORT tinca_model *tinca_model_open(const char *path, struct tinca_error *out)
{
    struct safetensors file;
    struct error error;
    if (!path) {
        library_refuse(out, "tinca_model_open", "the path is NULL");
        return NULL;
    }
    struct tinca_model *model =
        safetensors_open(&file, path, &error) ? make_model(&file, &error) : NULL;
    if (!model)
        library_fail(out, &error);
    return model;
}

TINCA_EXPORT tinca_model *tinca_model_from_memory(const void *bytes, size_t size,
                                                  struct tinca_error *out)
{
    struct safetensors file;
    struct error error;
    if (!bytes) {
        library_refuse(out, "tinca_model_from_memory", "the bytes are NULL");
        return NULL;
    }
    struct tinca_model *model =
        safetensors_open_memory(&file, "a model in memory", bytes, size, &error)
            ? make_model(&file, &error)
            : NULL;
    if (!model)
        library_fail(out, &error);
    return model;
}

/* --- the end of a model --- */

TINCA_EXPORT void tinca_model_close(tinca_model *model)
{
    if (!model)
        return;
    pthread_mutex_lock(&model->lock);
    const bool unused = model->sessions == 0;
    model->closed = true;
    pthread_mutex_unlock(&model->lock);
    if (unused)
        free_model(model);
}

void library_leave_model(struct tinca_model *model)
{
    pthread_mutex_lock(&model->lock);
    const bool unused = --model->sessions == 0 && model->closed;
    pthread_mutex_unlock(&model->lock);
    if (unused)
        free_model(model);
}

/* --- facts about a model --- */

static struct tinca_shape shape_of(struct shape shape)
{
    return (struct tinca_shape){shape.channels, shape.height, shape.width};
}

TINCA_EXPORT const char *tinca_model_name(const tinca_model *model)
{
    return model->name;
}

TINCA_EXPORT struct tinca_shape tinca_model_input(const tinca_model *model)
{
    return shape_of(model->saved.network->input);
}

TINCA_EXPORT struct tinca_shape tinca_model_output(const tinca_model *model)
{
    return shape_of(model->output);
}

TINCA_EXPORT size_t tinca_model_classes(const tinca_model *model)
{
    return model->saved.network->classes;
}

TINCA_EXPORT const char *tinca_model_class_name(const tinca_model *model, size_t number)
{
    return number < model->saved.network->classes ? model->saved.class_names[number] : NULL;
}

TINCA_EXPORT void tinca_model_normalisation(const tinca_model *model, float mean[3],
                                            float deviation[3])
{
    memcpy(mean, model->saved.preprocessing.normalisation.mean, 3 * sizeof *mean);
    memcpy(deviation, model->saved.preprocessing.normalisation.deviation, 3 * sizeof *deviation);
}

TINCA_EXPORT void tinca_probabilities(const float *scores, size_t classes, float *probabilities)
{
    const bool ranked = ranking_exists(scores, classes);
    const struct class_shares shares =
        ranked ? ranking_shares(scores, classes) : (struct class_shares){0};
    for (size_t c = 0; c < classes; c++)
        probabilities[c] = ranked ? (float)ranking_share(&shares, scores[c]) : NAN;
}
