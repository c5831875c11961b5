/* Measures the inference time of a run's model: one image at a time, on one device, as in the
 * dissertation that tinca follows. */
#include "models/measure/measurement.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"

#include "base/files/output_file.h"
#include "data/formats/npy.h"

#include "base/files/file.h"
#include "base/portable/portable.h"
#include "engine/devices/device.h"
#include "models/measure/energy_meter.h"
#include "models/saved/evaluate.h"
#include "runs/record/run_open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct measurement *measurement, const struct evaluation *evaluation,
                 const struct energy *energy, const struct device *device)
{
    measurement->on = measured_on_now(device);
    measurement->images = evaluation->images;
    measurement->ms_per_image = (struct statistics){.median = evaluation->ms_median,
                                                    .min = evaluation->ms_min,
                                                    .mean = evaluation->ms_mean,
                                                    .sd = evaluation->ms_sd,
                                                    .ci95 = evaluation->ms_ci95};
    measurement->top1 = evaluation->top1;
    measurement->top5 = evaluation->top5;
    measurement->loss = evaluation->loss;
    measurement->memory_bytes = evaluation->memory_bytes;
    measurement->joules_per_image =
        energy->known ? energy->joules / (double)evaluation->images : (double)NAN;
    measurement->watts = energy->known ? energy->joules / energy->seconds : (double)NAN;
    snprintf(measurement->energy_unknown, sizeof measurement->energy_unknown, "%s",
             energy->why_unknown);
}

static bool measure_model(const char *path, const struct run_config *config,
                          const struct measure_request *request, struct measurement *measurement,
                          struct error *error)
{
    struct model model;
    struct evaluation evaluation;
    const char *device = request->device ? request->device : machine_settings(config).device;
    char spec[CONFIG_SPEC];
    const char *data = config_measured_spec(config, spec);
    if (request->data)
        data = request->data;
    /* read before the model, so that this entry becomes stale if the model is replaced meanwhile */
    const struct model_use use = {.bytes = dataset_bytes(data, "test")};
    if (!measurement_note_model(measurement, path, error) ||
        !model_load_for(&model, path, device, request->threads, &use, error))
        return false;
    bool measured = measurement_set_precision(&model, config, request->precision, error);
    struct energy_meter *meter = energy_meter_begin(model.device, NULL);
    const struct evaluation_request evaluate = {.images = request->images,
                                                .progress = request->progress,
                                                .context = request->context,
                                                .times = request->times,
                                                .time_count = request->time_count};
    measured = measured && model_measure(&model, data, &evaluate, &evaluation, error);
    const struct energy energy = energy_meter_end(meter);
    if (measured) {
        snprintf(measurement->data, sizeof measurement->data, "%s", data);
        fill(measurement, &evaluation, &energy, model.device);
        kernel_choices_summarise(model.chosen, measurement->chosen);
    }
    model_free(&model);
    return measured;
}

bool measure_run(const struct run *run, const struct measure_request *request,
                 struct measurement *measurement, struct error *error)
{
    const char *directory = run_facts(run)->directory;
    *measurement = (struct measurement){0};
    if (!run_trained_by_tinca(run_facts(run)->imported, run_facts(run)->id, error))
        return false;
    char *path = measurement_model_path(directory, NULL, error);
    bool measured = path && measure_model(path, run_config(run), request, measurement, error) &&
                    measurements_put(directory, measurement, error);
    free(path);
    return measured;
}

/* --- in turns --- */

/* Stores the turns of two runs in the folder of the first one. */
static bool put_turns(const struct run *first, const struct run *second,
                      const struct model_stamp stamps[2], const struct turns *turns,
                      struct error *error)
{
    struct measured_turns measured = {.own = stamps[0], .with = stamps[1], .turns = *turns};
    snprintf(measured.other, sizeof measured.other, "%s", run_facts(second)->id);
    return measurements_put_turns(run_facts(first)->directory, &measured, error);
}

/* Fills the models that take turns. The caller frees their paths, also after an error. */
static bool find_models(const struct run *const *runs, size_t count,
                        const struct measure_request *request, struct turns_model *models,
                        char **paths, struct model_stamp *stamps, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        const struct run_facts *facts = run_facts(runs[i]);
        if (!run_trained_by_tinca(facts->imported, facts->id, error))
            return false;
        paths[i] = measurement_model_path(facts->directory, NULL, error);
        if (!paths[i] || !model_stamp_read(&stamps[i], paths[i], error))
            return false;
        models[i] = (struct turns_model){.path = paths[i],
                                         .device = request->device ? request->device
                                                                   : run_config(runs[0])->device,
                                         .threads = request->threads,
                                         .config = run_config(runs[i])};
    }
    return true;
}

bool measure_turns(const struct run *const *runs, size_t count,
                   const struct measure_request *request, struct error *error)
{
    struct turns_model models[TURNS_MODELS];
    struct model_stamp stamps[TURNS_MODELS];
    struct turns results[TURNS_MODELS * TURNS_MODELS];
    char *paths[TURNS_MODELS] = {NULL};
    if (count < 2 || count > TURNS_MODELS)
        return error_set(error, ERROR_USAGE, "--measure", "name so many runs",
                         "%zu runs are named, and 2 to %d models take turns", count, TURNS_MODELS);
    bool measured =
        find_models(runs, count, request, models, paths, stamps, error) &&
        turns_measure(models, count, request->progress, request->context, results, error);
    for (size_t i = 0; measured && i < count; i++)
        for (size_t j = i + 1; measured && j < count; j++) {
            const struct model_stamp both[2] = {stamps[i], stamps[j]};
            measured = put_turns(runs[i], runs[j], both, &results[i * count + j], error);
        }
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    return measured;
}

bool measurement_write_times(const char *path, const double *times, size_t count,
                             struct error *error)
{
    const size_t length = strlen(path);
    const bool array = length > 4 && strcmp(path + length - 4, ".npy") == 0;
    struct output_file file;
    uint8_t header[256];
    if (!output_file_open(&file, path, array ? OUTPUT_BINARY : OUTPUT_TEXT, error))
        return false;
    if (array) {
        fwrite(header, 1, npy_header_write(header, "<f8", &count, 1), file.stream);
        fwrite(times, sizeof *times, count, file.stream);
    } else {
        fputs("image,ms\n", file.stream);
        for (size_t i = 0; i < count; i++)
            fprintf(file.stream, "%zu,%.9g\n", i, times[i]);
    }
    return output_file_commit(&file, error);
}

/* --- in the background --- */

static bool work(void *subject, struct background_job *background_job, struct error *error)
{
    struct measure_job *job = subject;
    const struct measure_request request = {.device = job->device,
                                            .threads = job->threads,
                                            .progress = background_job_progress,
                                            .context = background_job};
    struct run *run = run_open(job->directory, error);
    struct run *other = run && job->other[0] ? run_open(job->other, error) : NULL;
    const struct run *const both[] = {run, other};
    const bool measured = run && (job->other[0] ? other && measure_turns(both, 2, &request, error)
                                                : measure_run(run, &request, &job->result, error));
    run_free(run);
    run_free(other);
    return measured;
}

struct background_job *measure_start(struct measure_job *job, struct error *error)
{
    return background_job_start(work, job, error);
}
