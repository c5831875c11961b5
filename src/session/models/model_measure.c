/* Accuracy comes from the whole set in batches; times come from the first images of it, one at a
 * time, after a warm-up, while the energy counters run.
 *
 * The interval of the median needs no assumption about the distribution of the times, which has a
 * long tail: the number of times below the true median is binomial, so the order statistics at
 * n/2 -+ 1.96 sqrt(n)/2 enclose it with a probability of 95 % (Conover 1999, 3.2). */
#include "session/models/model_measure.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "session/compress/inference_time.h"
#include "session/measure/energy_meter.h"
#include "session/values/statistics.h"

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

static void note_machine(struct model_measured *measured, const struct device *device)
{
    struct host host;
    host_describe(&host);
    snprintf(measured->device, sizeof measured->device, "%s", device->name);
    snprintf(measured->precision, sizeof measured->precision, "%s",
             device_precision_names[device->precision]);
    snprintf(measured->host, sizeof measured->host, "%s", host.name);
    snprintf(measured->cpu, sizeof measured->cpu, "%s", host.cpu);
    clock_now_rfc3339(measured->created, sizeof measured->created);
    measured->threads = device->threads;
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
        note_machine(&measured, model.device);
    dataset_free(dataset);
    model_free(&model);
    return done && model_figures_put(figures, &measured, error);
}

/* --- pairs --- */

enum { PAIR_WARM_UP = 3, PAIR_IMAGES = 300 };

/* Infers random images by both models in turn. ms[m * images + i]: by model m. */
static bool infer_in_turn(struct model *const models[2], const float *const images[2], double *ms,
                          size_t count, const struct model_measure_request *request,
                          struct error *error)
{
    for (size_t i = 0; i < PAIR_WARM_UP + count; i++) {
        const size_t done = i < PAIR_WARM_UP ? 0 : i - PAIR_WARM_UP;
        for (size_t m = 0; m < 2; m++) /* which one is first changes, too */
            if (!inference_timed(models[(m + i) % 2], images[(m + i) % 2], 1,
                                 i < PAIR_WARM_UP ? NULL : &ms[(m + i) % 2 * count + done], error))
                return false;
        if (request->progress && !request->progress(request->context, done, count, error))
            return false;
    }
    return true;
}

static bool time_pair(struct model *model, struct model *origin,
                      const struct model_measure_request *request, struct model_pair *pair,
                      struct error *error)
{
    const size_t count = request->timed ? request->timed : PAIR_IMAGES;
    struct model *const models[2] = {model, origin};
    float *const images[2] = {inference_image(model, error), inference_image(origin, error)};
    double *ms = memory_new(2 * count, sizeof *ms, "times", error);
    const bool timed =
        images[0] && images[1] && ms &&
        infer_in_turn(models, (const float *const *)images, ms, count, request, error);
    if (timed) {
        pair->timed = count;
        model_median(ms, count, &pair->ms, &pair->ms_low, &pair->ms_high);
        model_median(ms + count, count, &pair->origin_ms, &pair->origin_low, &pair->origin_high);
    }
    free(images[0]);
    free(images[1]);
    free(ms);
    return timed;
}

bool model_measure_pair(const char *path, const char *origin,
                        const struct model_measure_request *request, struct model_figures *figures,
                        struct error *error)
{
    struct model models[2] = {{0}};
    struct model_pair pair = {0};
    struct model_measured machine;
    const struct model_use use = {.models = 1};
    if (!model_load_for(&models[0], path, request->device, request->threads, &use, error))
        return false;
    bool done = model_load(&models[1], origin, request->device, request->threads, error);
    if (done) {
        done = time_pair(&models[0], &models[1], request, &pair, error);
        note_machine(&machine, models[0].device);
        snprintf(pair.origin, sizeof pair.origin, "%s", models[1].checksum);
        snprintf(pair.device, sizeof pair.device, "%s", machine.device);
        snprintf(pair.host, sizeof pair.host, "%s", machine.host);
        snprintf(pair.cpu, sizeof pair.cpu, "%s", machine.cpu);
        snprintf(pair.created, sizeof pair.created, "%s", machine.created);
        pair.threads = machine.threads;
        model_free(&models[1]);
    }
    model_free(&models[0]);
    return done && model_figures_put_pair(figures, &pair, error);
}
