/* tinca measure: measures the time, the accuracy and the memory of a run's model, one image at a
 * time, and stores the result in the run's folder for tinca compare and tinca advise. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "models/measure/measurement.h"
#include "runs/settings/settings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns E_P, the accuracy in percent per parameter; NaN if the parameters are not known. */
static double efficiency(const struct run *run, const struct measurement *measurement)
{
    size_t parameters = run_facts(run)->parameters;
    return parameters ? measurement->top1 / (double)parameters : NAN;
}

static int print_json(const struct run *run, const struct measurement *measurement)
{
    struct json *root = json_new_object();
    bool complete = json_add_string(root, "run", run_facts(run)->id) &&
                    json_add_string(root, "network", run_facts(run)->network) &&
                    json_add_string(root, "device", measurement->on.device) &&
                    json_add_string(root, "precision", measurement->on.precision) &&
                    json_add_count(root, "threads", measurement->on.threads) &&
                    json_add_string(root, "data", measurement->data) &&
                    json_add_string(root, "weights", measurement->weights) &&
                    json_add_count(root, "images", measurement->images) &&
                    json_add_number(root, "top1", measurement->top1) &&
                    json_add_number(root, "top5", measurement->top5) &&
                    json_add_number(root, "loss", measurement->loss) &&
                    json_add_count(root, "parameters", run_facts(run)->parameters) &&
                    json_add_number(root, "e_p", efficiency(run, measurement)) &&
                    json_add_count(root, "model_bytes", measurement->model_bytes) &&
                    json_add_count(root, "memory_bytes", measurement->memory_bytes) &&
                    json_add_number(root, "joules_per_image", measurement->joules_per_image) &&
                    json_add_number(root, "watts", measurement->watts) &&
                    (!measurement->energy_unknown[0] ||
                     json_add_string(root, "energy_unknown", measurement->energy_unknown)) &&
                    json_add_string(root, "chosen", measurement->chosen) &&
                    output_add_statistics(root, "ms_per_image", &measurement->ms_per_image);
    return output_json(root, complete);
}

static int print_text(const struct run *run, const struct measurement *measurement)
{
    const struct statistics *ms = &measurement->ms_per_image;
    char model[32], memory[32];
    output_print(ngettext("%s: %s on %s with %zu thread, %zu images of %s, one at a time\n",
                          "%s: %s on %s with %zu threads, %zu images of %s, one at a time\n",
                          measurement->on.threads),
                 run_facts(run)->id, run_facts(run)->network, measurement->on.device,
                 measurement->on.threads, measurement->images, measurement->data);
    output_print(_("  precision  %s\n"), measurement->on.precision);
    output_print(_("  ms/image   mean %.4g%s, median %.4g, min %.4g\n"), ms->mean,
                 STATISTICS_SPREAD(ms->sd, ms->ci95), ms->median, ms->min);
    if (!measurement->energy_unknown[0])
        output_print(_("  energy     %.4g J/image, %.4g W\n"), measurement->joules_per_image,
                     measurement->watts);
    else
        output_print(_("  energy     not known: %s\n"), measurement->energy_unknown);
    if (isfinite(measurement->top1))
        output_print(_("  accuracy   top-1 %.2f %%, top-5 %.2f %%, E_P %.4g x 10^-3\n"),
                     measurement->top1, measurement->top5, efficiency(run, measurement) * 1e3);
    output_print(_("  model      %s (%s), %s to infer\n"),
                 text_bytes(measurement->model_bytes, model, sizeof model), measurement->weights,
                 text_bytes(measurement->memory_bytes, memory, sizeof memory));
    return EXIT_DONE;
}

static int measure(const char *id, struct measure_request *request, const char *raw, bool as_json)
{
    double *times = NULL;
    size_t count = 0;
    struct error error;
    struct measurement measurement;
    int status;
    struct run *run = runs_open(id, &error);
    if (!run)
        return output_error(&error);
    if (raw) {
        request->times = &times;
        request->time_count = &count;
    }
    if ((raw && !output_file_check(raw, OUTPUT_TEXT, &error)) ||
        !measure_run(run, request, &measurement, &error) ||
        (raw && !measurement_write_times(raw, times, count, &error)))
        status = output_error(&error);
    else
        status = as_json ? print_json(run, &measurement) : print_text(run, &measurement);
    free(times);
    run_free(run);
    return status;
}

static int measure_command_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {KEY(threads), NULL};
    struct run_config config;
    struct measure_request request = {0};
    struct operands operands;
    bool as_json = false;
    const char *raw = NULL;
    int status;
    const struct option_row rows[] = {
        {.name = "data",
         .argument = "SPEC",
         .help =
             N_("The images; without it the run's validation data, or the test split of its data."),
         .kind = OPTION_TEXT,
         .value = &request.data},
        TEXT_ROW("device", "NAME", N_("The device that computes; without it the run's device."),
                 &request.device),
        NAME_ROW("precision", "NAME",
                 N_("The precision of the computation; without it the run's or, on a device that "
                    "does not compute in that one, float32."),
                 &request.precision, device_precision_names),
        COUNT_ROW("images", "N", N_("Only the first N images; without it all of them."),
                  &request.images, 2, (size_t)1 << 32),
        TEXT_ROW("raw", "FILE",
                 N_("Write the milliseconds of each image: CSV or, as FILE.npy, a NumPy array."),
                 &raw),
        OUTPUT_JSON_OPTION(&as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .fields = fields,
                                   .operands_min = 1,
                                   .operands_max = 1,
                                   .opens_device = true};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    request.threads = machine_settings(&config).threads;
    return measure(operands.values[0], &request, raw, as_json);
}

const struct command command_measure = {
    .name = "measure",
    .operands = "RUN",
    .summary = N_("Time a run's model, one image at a time, and store the result."),
    /* xgettext:no-c-format */
    .details = N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its "
                  "folder. Its best weights (without validation the last ones) infer the images of "
                  "the test set one by one, after a warm-up. The mean, standard deviation and 95 % "
                  "interval of the milliseconds, and the accuracy, are stored in the run's folder, "
                  "one entry per device, for tinca compare and tinca advise."),
    .run = measure_command_run,
};
