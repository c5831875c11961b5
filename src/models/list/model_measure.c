/* Accuracy comes from the whole set in batches; times come from the first images of it, one at a
 * time, after a warm-up, while the energy counters run.
 *
 * The interval of the median needs no assumption about the distribution of the times, which has a
 * long tail: the number of times below the true median is binomial, so the order statistics at
 * n/2 -+ 1.96 sqrt(n)/2 enclose it with a probability of 95 % (Conover 1999, 3.2). */
#include "models/list/model_measure.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "engine/weights/safetensors.h"
#include "models/measure/energy_meter.h"
#include "models/saved/model_file.h"
#include "runs/values/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void model_median(double *times, size_t count, double *median, double *low, double *high)
{
    *median = *low = *high = (double)NAN;
    if (count == 0)
        return;
    qsort(times, count, sizeof *times, by_value);
    *median = (times[(count - 1) / 2] + times[count / 2]) / 2;
    if (count < 6) /* the extremes of five times enclose the median with 94 % only */
        return;
    const double half = 1.959964 * sqrt((double)count) / 2, middle = (double)count / 2;
    const double first = fmax(ceil(middle - half), 1), last = ceil(middle + half);
    *low = times[(size_t)first - 1];
    *high = times[(size_t)fmin(last, (double)count) - 1];
}

static bool measure_accuracy(struct model *model, const struct dataset *dataset,
                             const struct model_measure_request *request,
                             struct model_measured *measured, struct error *error)
{
    struct evaluation evaluation;
    const struct evaluation_request all = {.progress = request->progress,
                                           .context = request->context};
    if (!model_evaluate_set(model, dataset, &all, &evaluation, error))
        return false;
    measured->images = evaluation.images;
    measured->top1 = evaluation.top1;
    measured->top1_low = evaluation.top1_low;
    measured->top1_high = evaluation.top1_high;
    measured->loss = evaluation.loss;
    return true;
}

static bool measure_times(struct model *model, const struct dataset *dataset,
                          const struct model_measure_request *request,
                          struct model_measured *measured, struct error *error)
{
    struct evaluation evaluation;
    double *times = NULL;
    size_t count = 0;
    const struct evaluation_request single = {.batch = 1,
                                              .images = request->timed ? request->timed
                                                                       : MODEL_TIMED_IMAGES,
                                              .timed = true,
                                              .progress = request->progress,
                                              .context = request->context,
                                              .times = &times,
                                              .time_count = &count};
    struct energy_meter *meter = energy_meter_begin(model->device, NULL);
    const bool done = model_evaluate_set(model, dataset, &single, &evaluation, error);
    const struct energy energy = energy_meter_end(meter);
    if (done) {
        measured->timed = evaluation.images;
        measured->ms_mean = evaluation.ms_mean;
        measured->ms_ci95 = evaluation.ms_ci95;
        model_median(times, count, &measured->ms, &measured->ms_low, &measured->ms_high);
        measured->joules = energy.known ? energy.joules / (double)evaluation.images : (double)NAN;
        snprintf(measured->energy_unknown, sizeof measured->energy_unknown, "%s",
                 energy.why_unknown);
    }
    free(times);
    return done;
}

bool model_measure_file(const char *path, const struct model_measure_request *request,
                        struct model_figures *figures, struct error *error)
{
    struct model model;
    struct model_measured measured = {0};
    snprintf(measured.data, sizeof measured.data, "%s", request->data);
    model_data_key(request->data, measured.data_key); /* before it is read: it may be replaced */
    const struct model_use use = {.bytes = dataset_bytes(request->data, "test")};
    if (!model_load_for(&model, path, request->device, request->threads, &use, error))
        return false;
    struct dataset *dataset = model_open_set(&model, request->data, error);
    measured.ms = measured.ms_low = measured.ms_high = (double)NAN;
    measured.ms_mean = measured.ms_ci95 = measured.joules = (double)NAN;
    bool done =
        dataset && measure_accuracy(&model, dataset, request, &measured, error) &&
        (request->only_accuracy || measure_times(&model, dataset, request, &measured, error));
    if (done)
        measured.on = measured_on_now(model.device);
    dataset_free(dataset);
    model_free(&model);
    return done && model_figures_put(figures, &measured, error);
}

/* --- pairs --- */

bool model_measure_pairs(const char *const *paths, size_t count,
                         const struct model_measure_request *request, struct model_figures *figures,
                         struct error *error)
{
    struct turns_model models[TURNS_MODELS] = {{0}};
    struct turns results[TURNS_MODELS * TURNS_MODELS];
    bool stored = true;
    for (size_t i = 0; i < count; i++)
        models[i] = (struct turns_model){
            .path = paths[i], .device = request->device, .threads = request->threads};
    if (!turns_measure(models, count, request->progress, request->context, results, error))
        return false;
    for (size_t i = 1; stored && i < count; i++) {
        struct model_pair pair = {.turns = results[i]};
        struct model origin = {0};
        stored = model_file_describe(&origin, paths[i], error);
        snprintf(pair.origin, sizeof pair.origin, "%s", origin.checksum);
        model_free(&origin);
        stored = stored && model_figures_put_pair(figures, &pair, error);
    }
    return stored;
}

/* --- layers of a quantized model --- */

/* Returns a number of the report; one that was not measured is null, thus NaN. */
static double number_of(const struct json *object, const char *key)
{
    double value;
    return json_number(json_member(object, key), &value) ? value : (double)NAN;
}

static bool read_layer(const struct json *object, struct model_layer *layer)
{
    const char *name = json_string(json_member(object, "layer"));
    const char *weights = json_string(json_member(object, "weights"));
    if (!name || !weights)
        return false;
    snprintf(layer->name, sizeof layer->name, "%s", name);
    layer->int8 = strcmp(weights, "int8") == 0;
    layer->weight_sqnr = number_of(object, "weight_sqnr_db");
    layer->output_sqnr = number_of(object, "output_sqnr_db");
    layer->top1_loss = number_of(object, "top1_loss");
    layer->loss_rise = number_of(object, "loss_rise");
    return true;
}

static bool read_report(const struct json *root, const char *path, struct model_layers *layers,
                        struct error *error)
{
    const struct json *list = json_member(root, "layers"), *object = json_first(list);
    const size_t count = json_is_array(list) ? json_length(list) : 0;
    bool read = count > 0;
    json_count(json_member(root, "layer_images"), &layers->images);
    layers->list = read ? memory_new(count, sizeof *layers->list, path, error) : NULL;
    if (read && !layers->list)
        return false;
    for (size_t i = 0; read && i < count; i++, object = json_next(object))
        read = read_layer(object, &layers->list[i]);
    layers->count = read ? count : 0;
    return read || error_set(error, ERROR_INPUT, path, "quantize the model again",
                             "its report tinca.quantization is damaged");
}

bool model_layers_read(const char *path, struct model_layers *layers, struct error *error)
{
    struct safetensors file;
    struct json_document document = {0};
    *layers = (struct model_layers){0};
    if (!safetensors_open(&file, path, error))
        return false;
    const char *text = safetensors_metadata(&file, "tinca.quantization");
    const bool read = !text || (json_parse(&document, text, strlen(text), path, error) &&
                                read_report(document.root, path, layers, error));
    json_document_free(&document);
    safetensors_close(&file);
    if (!read) {
        free(layers->list);
        *layers = (struct model_layers){0};
    }
    return read;
}
