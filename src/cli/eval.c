/* tinca eval: measures the accuracy and the times of a model file, or of a run's model, on a data
 * set. The operand is a file or a run; model_operand_is_run() decides which. */
#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/text.h"
#include "engine/quantize/simulate.h"
#include "exchange/logs/import.h"
#include "models/measure/measurement.h"
#include "models/measure/model_operand.h"
#include "models/saved/evaluate.h"
#include "runs/folder/computed_with.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "runs/values/run_facts.h"

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

static int print_json(const struct model *model, const struct evaluation *evaluation,
                      const struct eval_errors *errors)
{
    struct statistics times = times_of(evaluation);
    char name[NETWORK_SHORT_NAME];
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", network_short_name(model->network, name, sizeof name)) &&
        json_add_string(root, "technique", technique_name(model->network->technique)) &&
        json_add_string(root, "device", model->device->name) &&
        json_add_string(root, "precision", device_precision_names[model->device->precision]) &&
        (!network_is_simulated(model->network) || json_add_bool(root, "simulates_int8", true)) &&
        json_add_number(root, "top1", evaluation->top1) &&
        json_add_number(root, "top1_low", evaluation->top1_low) &&
        json_add_number(root, "top1_high", evaluation->top1_high) &&
        json_add_number(root, "top5", evaluation->top5) &&
        (model->network->classes ||
         json_add_number(root, "pixel_accuracy", evaluation->pixel_accuracy)) &&
        json_add_number(root, "loss", evaluation->loss) &&
        json_add_count(root, "images", evaluation->images) &&
        json_add_count(root, "batch", evaluation->batch) &&
        json_add_count(root, "memory_bytes", evaluation->memory_bytes) &&
        output_add_statistics(root, "ms_per_image", &times) &&
        kernel_choices_add(root, model->chosen) && eval_errors_add(errors, root);
    return output_json(root, complete);
}

static int print_text(const struct model *model, const struct evaluation *evaluation,
                      const struct eval_errors *errors)
{
    char name[NETWORK_SHORT_NAME];
    const char *title = language_text(model->network->title);
    if (model->network->compression[0]) /* the title does not say what was applied after training */
        output_print(_("%s (%s) on %zu images: "), title,
                     network_short_name(model->network, name, sizeof name), evaluation->images);
    else
        output_print(_("%s on %zu images: "), title, evaluation->images);
    if (model->network->classes)
        output_print(_("top-1 %.2f %%, top-5 %.2f %%, "), evaluation->top1, evaluation->top5);
    else
        output_print(_("pixel accuracy %.2f %% (within %g of 255), "), evaluation->pixel_accuracy,
                     model->tolerance);
    output_print(_("loss %s\n"), TEXT_NUMBER(evaluation->loss, 6));
    if (model->network->classes)
        output_print(_("  top-1 95 %% confidence interval: %.2f to %.2f %% (Wilson)\n"),
                     evaluation->top1_low, evaluation->top1_high);
    output_print(_("  ms/image   median %.4g, min %.4g, mean %.4g%s (%s, batch %zu)\n"),
                 evaluation->ms_median, evaluation->ms_min, evaluation->ms_mean,
                 STATISTICS_SPREAD(evaluation->ms_sd, evaluation->ms_ci95), model->device->name,
                 evaluation->batch);
    if (network_is_simulated(model->network))
        output_print(_("  in %s, with the rounding to 8-bit integers simulated\n"),
                     device_precision_names[model->device->precision]);
    return eval_errors_print(errors);
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
    char validate[CONFIG_SPEC] = "";
    if (run)
        config_validation_spec(run_config(run), validate);
    if (!config_is_given(config, KEY(data)) && validate[0] && path &&
        !config_set(config, KEY(data), validate, error)) {
        free(path);
        path = NULL;
    }
    run_free(run);
    return path;
}

/* Evaluates the loaded model. Returns false with an error. */
static bool evaluate_model(struct model *model, const struct run_config *config,
                           struct eval_errors *errors, struct evaluation *evaluation,
                           struct error *error)
{
    const struct data_settings data = data_settings(config);
    struct dataset *dataset = model_open_set(model, data.data, error);
    const struct evaluation_request request = {
        .batch = config_is_given(config, KEY(batch)) ? training_settings(config).batch : 0,
        .timed = true,
        .progress = eval_errors_progress,
        .watch = eval_errors_watch,
        .context = errors};
    if (dataset && dataset_facts(dataset)->renumbered)
        output_note(_("tinca: %s: its classes have the model's numbers, by their names\n"),
                    data.data);
    if (dataset && model->other_numbers)
        output_note(_("tinca: %s: its classes have other numbers as names than the model's: the "
                      "model's class 0 is taken for %s, and so on in the order of the set\n"),
                    data.data, dataset_class_name(dataset, 0));
    const bool evaluated = dataset && eval_errors_begin(errors, model, dataset, error) &&
                           model_evaluate_set(model, dataset, &request, evaluation, error) &&
                           eval_errors_finish(errors, error);
    dataset_free(dataset);
    return evaluated;
}

static int evaluate(const char *path, const struct run_config *config, struct eval_errors *errors,
                    bool as_json)
{
    const struct machine_settings machine = machine_settings(config);
    struct model model;
    struct evaluation evaluation;
    struct error error;
    int status;
    const struct model_use use = {.bytes = dataset_bytes(data_settings(config).data, "test")};
    if ((errors->predictions &&
         !output_file_spares(errors->predictions, &(char *){(char *)path}, 1, &error)) ||
        !model_load_for(&model, path, machine.device, machine.threads, &use, &error))
        return output_error(&error);
    model.tolerance = (double)measurement_settings(config).tolerance;
    model.device->strict = machine.strict_device;
    if (!model_set_precision(&model, config, &error) ||
        !evaluate_model(&model, config, errors, &evaluation, &error))
        status = output_error(&error);
    else if (as_json)
        status = print_json(&model, &evaluation, errors);
    else if (errors->predictions && output_file_is_stdout(errors->predictions))
        status = EXIT_DONE; /* nothing mixes with the rows */
    else
        status = print_text(&model, &evaluation, errors);
    eval_errors_free(errors);
    model_free(&model);
    return status;
}

static int eval_run(const struct command *command, int argc, char **argv)
{
    struct run_config config;
    struct error error;
    struct operands operands;
    char *path = NULL;
    bool as_json = false;
    int status;
    struct eval_errors errors = {0};
    const struct option_row rows[] = {
        OUTPUT_JSON_OPTION(&as_json),
        SWITCH_ROW("confusion", N_("Show how often each class is predicted as each other one."),
                   &errors.confusion),
        SWITCH_ROW("per-class",
                   N_("Show precision, recall and F1 of each class, and the calibration error."),
                   &errors.per_class),
        TEXT_ROW("predictions", "FILE",
                 N_("Write a CSV row for each image: label, guess, the five most probable classes, "
                    "logits."),
                 &errors.predictions),
        TEXT_ROW("wrong", "FOLDER",
                 N_("Write each misclassified picture as a PNG, named after its classes."),
                 &errors.wrong),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .task = TASK_EVALUATE,
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (model_operand_is_run(operands.values[0]) &&
        !(path = find_model(operands.values[0], &config, &error)))
        return output_error(&error);
    if (as_json && errors.predictions && output_file_is_stdout(errors.predictions)) {
        error_set(&error, ERROR_USAGE, "--predictions", "give it a file",
                  "the JSON document goes to standard output already");
        status = output_error(&error);
    } else if (!config_is_given(&config, KEY(data))) {
        error_set(&error, ERROR_USAGE, OPTION(data), "give --data SPEC: tinca datasets lists them",
                  "no data set was named");
        status = output_error(&error);
    } else {
        status = evaluate(path ? path : operands.values[0], &config, &errors, as_json);
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
