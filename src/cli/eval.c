/* tinca eval: measures the accuracy and the times of a model file, or of a run's model, on a data
 * set. The operand is a file or a run; names_run() decides which. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/file.h"
#include "base/language.h"
#include "session/files/kernel_choices.h"
#include "session/import/import.h"
#include "session/measure/measurement.h"
#include "session/model/evaluate.h"
#include "session/values/run_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct statistics times_of(const struct evaluation *evaluation)
{
    return (struct statistics){.median = evaluation->ms_median,
                               .min = evaluation->ms_min,
                               .mean = evaluation->ms_mean,
                               .sd = evaluation->ms_sd,
                               .ci95 = evaluation->ms_ci95};
}

static int print_json(const struct model *model, const struct evaluation *evaluation)
{
    struct statistics times = times_of(evaluation);
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", model->network->name) &&
        json_add_string(root, "technique", technique_name(model->network->technique)) &&
        json_add_string(root, "device", model->device->name) &&
        json_add_string(root, "precision", device_precision_names[model->device->precision]) &&
        json_add_number(root, "top1", evaluation->top1) &&
        json_add_number(root, "top5", evaluation->top5) &&
        (model->network->classes ||
         json_add_number(root, "pixel_accuracy", evaluation->pixel_accuracy)) &&
        json_add_number(root, "loss", evaluation->loss) &&
        json_add_count(root, "images", evaluation->images) &&
        json_add_count(root, "batch", evaluation->batch) &&
        json_add_count(root, "memory_bytes", evaluation->memory_bytes) &&
        output_add_statistics(root, "ms_per_image", &times) &&
        kernel_choices_add(root, model->chosen);
    return output_json(root, complete);
}

static int print_text(const struct model *model, const struct evaluation *evaluation)
{
    output_print(_("%s on %zu images: "), language_text(model->network->title), evaluation->images);
    if (model->network->classes)
        output_print(_("top-1 %.2f %%, top-5 %.2f %%, "), evaluation->top1, evaluation->top5);
    else
        output_print(_("pixel accuracy %.2f %% (within %g of 255), "), evaluation->pixel_accuracy,
                     model->tolerance);
    output_print(_("loss %.6g\n"), evaluation->loss);
    output_print(_("  ms/image   median %.4g, min %.4g, mean %.4g, sd %s, 95 %% +- %s (%s, batch "
                   "%zu)\n"),
                 evaluation->ms_median, evaluation->ms_min, evaluation->ms_mean,
                 STATISTICS_SPREAD(evaluation->ms_sd), STATISTICS_SPREAD(evaluation->ms_ci95),
                 model->device->name, evaluation->batch);
    return EXIT_DONE;
}

/* Returns whether the operand names a run: a folder, or a name that is no file, path or model file.
 */
static bool names_run(const char *operand)
{
    size_t length = strlen(operand);
    const char *ending = ".safetensors";
    if (file_is_directory(operand))
        return true;
    return !file_exists(operand) && !strchr(operand, '/') &&
           (length < strlen(ending) || strcmp(operand + length - strlen(ending), ending) != 0);
}

/* Returns the path of the run's model file, which the caller frees, or NULL with an error. Without
 * --data the run's validation data becomes the configuration's data. */
static char *find_model(const char *id, struct run_config *config, struct error *error)
{
    struct run *run = runs_open(id, error);
    const bool computed_here =
        run && run_trained_by_tinca(run_facts(run)->imported, run_facts(run)->id, error);
    char *path =
        computed_here ? measurement_model_path(run_facts(run)->directory, NULL, error) : NULL;
    const char *validate = run ? run_config(run)->validate : "";
    if (!config_is_given(config, "data") && validate[0] && path &&
        !config_set(config, "data", validate, error)) {
        free(path);
        path = NULL;
    }
    run_free(run);
    return path;
}

static int evaluate(const char *path, const struct run_config *config, bool as_json)
{
    struct model model;
    struct evaluation evaluation;
    struct error error;
    size_t batch = config_is_given(config, "batch") ? config->batch : 0;
    int status;
    if (!model_load(&model, path, config->device, config->threads, &error))
        return output_error(&error);
    model.tolerance = (double)config->tolerance;
    model.device->strict = config->strict_device;
    if (!device_set_precision(model.device, (enum device_precision)config->precision, &error) ||
        !model_evaluate(&model, config->data, batch, &evaluation, &error))
        status = output_error(&error);
    else
        status = as_json ? print_json(&model, &evaluation) : print_text(&model, &evaluation);
    model_free(&model);
    return status;
}

static int eval_run(const struct command *command, int argc, char **argv)
{
    static const char *const fields[] = {"data",      "batch",         "device",    "threads",
                                         "precision", "strict-device", "tolerance", NULL};
    struct run_config config;
    struct error error;
    struct operands operands;
    char *path = NULL;
    bool as_json = false;
    int status;
    const struct option_row rows[] = {OUTPUT_JSON_OPTION(&as_json), {0}};
    const struct option_set set = {
        .rows = rows, .config = &config, .fields = fields, .operands_min = 1, .operands_max = 1};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (names_run(operands.values[0]) && !(path = find_model(operands.values[0], &config, &error)))
        return output_error(&error);
    if (!config_is_given(&config, "data")) {
        error_set(&error, ERROR_USAGE, "--data", "give --data SPEC: tinca datasets lists them",
                  "no data set was named");
        status = output_error(&error);
    } else {
        status = evaluate(path ? path : operands.values[0], &config, as_json);
    }
    free(path);
    return status;
}

const struct command command_eval = {
    .name = "eval",
    .operands = "MODEL|RUN --data SPEC",
    .summary = N_("Measure a saved model's accuracy and times on a data set."),
    .details =
        N_("MODEL is a file that tinca train --save wrote. RUN is an ID that tinca runs lists, the "
           "beginning of one, a run's name, or its folder: then its best weights are used, and its "
           "validation data unless --data is given. Without split= the test split is used if there "
           "is one. Times are milliseconds per image, by batch, after a warm-up; with --batch 1 "
           "they are the times of single images. tinca measure stores such times with the run."),
    .run = eval_run,
};
