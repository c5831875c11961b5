/* Measures the inference time of a run's model: one image at a time, on one device, as in the
 * dissertation that tinca follows. */
#include "session/config/config_data.h"
#include "session/measure/measurement.h"

#include "base/files/output_file.h"
#include "data/formats/npy.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/host/host.h"
#include "base/portable/portable.h"
#include "engine/devices/device.h"
#include "session/measure/energy_meter.h"
#include "session/model/evaluate.h"
#include "session/record/run_open.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool file_size(const char *path, uint64_t *bytes)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    *bytes = (uint64_t)status.st_size;
    return true;
}

char *measurement_model_path(const char *run_directory, uint64_t *bytes, struct error *error)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    uint64_t size = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = file_join(run_directory, names[i]);
        if (!path) {
            error_set_memory(error, "a path", 0);
            return NULL;
        }
        if (file_size(path, &size)) {
            if (bytes)
                *bytes = size;
            return path;
        }
        free(path);
    }
    error_set(error, ERROR_INPUT, run_directory, "let the run end, or train again",
              "this run has saved no weights");
    return NULL;
}

static void fill(struct measurement *measurement, const struct evaluation *evaluation,
                 const struct energy *energy, const struct device *device)
{
    struct host host;
    host_describe(&host);
    snprintf(measurement->device, sizeof measurement->device, "%s", device->name);
    snprintf(measurement->precision, sizeof measurement->precision, "%s",
             device_precision_names[device->precision]);
    snprintf(measurement->host, sizeof measurement->host, "%s", host.name);
    snprintf(measurement->cpu, sizeof measurement->cpu, "%s", host.cpu);
    clock_now_rfc3339(measurement->created, sizeof measurement->created);
    measurement->threads = device->threads;
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

bool measurement_note_model(struct measurement *measurement, const char *path, struct error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return error_set_errno(error, path, "measure again", "it cannot be looked at");
    snprintf(measurement->weights, sizeof measurement->weights, "%s", file_base_name(path));
    measurement->model_bytes = (uint64_t)status.st_size;
    measurement->model_changed = status.st_mtime > 0 ? (uint64_t)status.st_mtime : 0;
    return true;
}

/* Sets the precision of the model's device: the one that is asked for or, if none is, the run's
 * where the device computes in it. A quantized model is then measured as model_load sets it. */
static bool set_precision(struct model *model, const struct run_config *config,
                          const struct measure_request *request, struct error *error)
{
    struct device *device = model->device;
    size_t precision = config->precision;
    if (!request->precision && device->precision == PRECISION_INT8)
        return true;
    for (size_t i = 0; request->precision && i < PRECISIONS; i++)
        if (strcmp(device_precision_names[i], request->precision) == 0)
            precision = i;
    if (!request->precision &&
        !device_check_precision(device->driver, (enum device_precision)precision, NULL))
        return true;
    return model_compute_in(model, (enum device_precision)precision, error);
}

static bool measure_model(const char *path, const struct run_config *config,
                          const struct measure_request *request, struct measurement *measurement,
                          struct error *error)
{
    struct model model;
    struct evaluation evaluation;
    const char *device = request->device ? request->device : config->device;
    char spec[CONFIG_SPEC];
    const char *data = config_measured_spec(config, spec);
    if (request->data)
        data = request->data;
    /* before the model is read: if it is replaced meanwhile, this entry becomes stale */
    const struct model_use use = {.bytes = dataset_bytes(data, "test")};
    if (!measurement_note_model(measurement, path, error) ||
        !model_load_for(&model, path, device, request->threads, &use, error))
        return false;
    bool measured = set_precision(&model, config, request, error);
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
    bool measured = run && measure_run(run, &request, &job->result, error);
    run_free(run);
    return measured;
}

struct background_job *measure_start(struct measure_job *job, struct error *error)
{
    return background_job_start(work, job, error);
}
