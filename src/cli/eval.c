/* A table shows the whole confusion matrix of up to MATRIX_CLASSES classes; of more classes it
 * shows the pairs that are confused most often. The JSON document always has the whole matrix. */
#include "cli/internal.h"

#include "base/escape/csv.h"
#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "data/formats/image_file.h"
#include "engine/quantize/simulate.h"
#include "exchange/logs/import.h"
#include "models/measure/measurement.h"
#include "models/measure/model_operand.h"
#include "models/saved/evaluate.h"
#include "runs/folder/computed_with.h"
#include "runs/settings/config_data.h"
#include "runs/settings/settings.h"
#include "runs/values/run_facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shows a model's errors in tinca eval: the confusion matrix, figures of each class, calibration, a
 * file of all predictions, and the misclassified pictures. */

struct eval_errors {
    bool confusion, per_class;       /* print or add them */
    const char *predictions, *wrong; /* paths; NULL: not asked for */

    const struct model *model;
    const struct dataset *dataset;
    struct error_analysis analysis;
    struct predictions_file file;
    bool file_open;
    size_t wrong_written;
    struct error failed; /* what could not be written; kind ERROR_NONE: nothing */
};

enum { MATRIX_CLASSES = 12, MOST_CONFUSED = 20 };

/* --- gathering --- */

static bool asks(const struct eval_errors *errors)
{
    return errors->confusion || errors->per_class || errors->predictions || errors->wrong;
}

/* Prepares what was asked for. Returns false with an error if a target cannot be written, or the
 * network has no classes. Keeps `model` and `dataset` until eval_errors_finish. */
static bool eval_errors_begin(struct eval_errors *errors, const struct model *model,
                              const struct dataset *dataset, struct error *error)
{
    errors->model = model;
    errors->dataset = dataset;
    if (!asks(errors))
        return true;
    if (model->network->classes == 0)
        return error_set(error, ERROR_UNSUPPORTED, model->network->name,
                         "leave out --confusion, --per-class, --predictions and --wrong",
                         "this network makes pictures and predicts no classes");
    if (!error_analysis_create(&errors->analysis, model->network->classes, error) ||
        (errors->wrong && !file_make_directories(errors->wrong, error)))
        return false;
    errors->file_open =
        errors->predictions &&
        predictions_file_open(&errors->file, errors->predictions, model, dataset, error);
    return errors->file_open || !errors->predictions;
}

/* Returns the name of a misclassified picture, "000123_cat_as_dog_0.93.png". The caller frees it.
 */
static char *wrong_path(const struct eval_errors *errors, const struct outcome *outcome)
{
    const struct model *model = errors->model;
    char name[200], label[65], guess[65] = "nothing";
    csv_clean(model->class_names[outcome->label], label, sizeof label);
    if (outcome->guess != OUTCOME_NONE)
        csv_clean(model->class_names[outcome->guess], guess, sizeof guess);
    snprintf(name, sizeof name, "%06u_%s_as_%s_%.2f.png", (unsigned)outcome->image, label, guess,
             (double)outcome->share);
    return file_join(errors->wrong, name);
}

static bool write_wrong(struct eval_errors *errors, const struct outcome *outcome)
{
    struct image image = {0};
    char *path = wrong_path(errors, outcome);
    if (!path)
        return error_set_memory(&errors->failed, "a path", 0);
    const bool written =
        dataset_image(errors->dataset, outcome->image, &image, NULL, &errors->failed) &&
        image_file_export_png(&image, path, &errors->failed);
    errors->wrong_written += written;
    image_free(&image);
    free(path);
    return written;
}

/* Take each image's outcome (outcome_watch), and end the evaluation after a failure to write
 * (evaluation_progress). `context` is a struct eval_errors. */
static void eval_errors_watch(void *context, const struct outcome *outcome, const float *logits)
{
    struct eval_errors *errors = context;
    if (!asks(errors) || errors->failed.kind != ERROR_NONE)
        return;
    error_analysis_add(&errors->analysis, outcome);
    if (errors->file_open)
        predictions_file_add(&errors->file, outcome, logits);
    if (errors->wrong && outcome->guess != outcome->label)
        write_wrong(errors, outcome);
}

static bool eval_errors_progress(void *context, uint64_t done, uint64_t of, struct error *error)
{
    const struct eval_errors *errors = context;
    (void)done;
    (void)of;
    if (errors->failed.kind == ERROR_NONE)
        return true;
    *error = errors->failed;
    return false;
}

/* Completes the file of predictions. Returns false with an error. */
static bool eval_errors_finish(struct eval_errors *errors, struct error *error)
{
    const bool open = errors->file_open;
    errors->file_open = false;
    return !open || predictions_file_close(&errors->file, error);
}

/* Frees everything; an incomplete file of predictions is abandoned. */
static void eval_errors_free(struct eval_errors *errors)
{
    if (errors->file_open)
        predictions_file_abandon(&errors->file);
    error_analysis_free(&errors->analysis);
    *errors = (struct eval_errors){0};
}

/* --- tables --- */

/* Writes a percentage, or "-" if there is none: nothing was counted. Returns `text`. */
static const char *percent(double value, char text[32])
{
    snprintf(text, 32, isfinite(value) ? "%.2f" : "-", value);
    return text;
}

static int print_classes(const struct eval_errors *errors)
{
    const struct error_analysis *analysis = &errors->analysis;
    char text[32], other[32];
    struct table table = table_begin("lrrrr", _("Class|Images|Precision %|Recall %|F1 %"));
    for (size_t c = 0; c < analysis->confusion.classes; c++) {
        const struct class_figures figures = error_analysis_class(analysis, c);
        table_cell(&table, "%s", errors->model->class_names[c]);
        table_cell(&table, "%zu", figures.images);
        table_number(&table, "%.2f", figures.precision);
        table_number(&table, "%.2f", figures.recall);
        table_number(&table, "%.2f", figures.f1);
    }
    output_print("\n");
    const int status = output_table(&table);
    output_print(_("Mean F1 of the classes %s %%; calibration error %s %%: the mean distance "
                   "between probability and accuracy.\n"),
                 percent(error_analysis_macro_f1(analysis), text),
                 percent(100 * error_analysis_calibration(analysis), other));
    return status;
}

static int print_matrix(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    struct table table = {.columns = confusion->classes + 1, .align = "lr"};
    table_cell(&table, "%s", _("Class / predicted"));
    for (size_t c = 0; c < confusion->classes; c++)
        table_cell(&table, "%s", errors->model->class_names[c]);
    for (size_t label = 0; label < confusion->classes; label++) {
        table_cell(&table, "%s", errors->model->class_names[label]);
        for (size_t guess = 0; guess < confusion->classes; guess++)
            table_cell(&table, "%u", (unsigned)confusion_count(confusion, label, guess));
    }
    return output_table(&table);
}

struct confused {
    size_t label, guess;
    uint32_t count;
};

static int by_count(const void *a, const void *b)
{
    const struct confused *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->label != y->label ? (x->label < y->label ? -1 : 1) : (x->guess < y->guess ? -1 : 1);
}

/* Keeps the pair among the `count` most frequent ones, which are sorted. Returns their number. */
static size_t keep_most(struct confused *most, size_t count, struct confused pair)
{
    if (count < MOST_CONFUSED)
        most[count++] = pair;
    else if (by_count(&pair, &most[count - 1]) < 0)
        most[count - 1] = pair;
    qsort(most, count, sizeof *most, by_count);
    return count;
}

static int print_most_confused(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    struct confused most[MOST_CONFUSED];
    size_t count = 0;
    for (size_t label = 0; label < confusion->classes; label++)
        for (size_t guess = 0; guess < confusion->classes; guess++) {
            const uint32_t images = confusion_count(confusion, label, guess);
            if (label != guess && images > 0)
                count = keep_most(most, count, (struct confused){label, guess, images});
        }
    output_print(_("The most frequent of the errors (--json has all of them):\n"));
    struct table table = table_begin("llr", _("Class|Predicted as|Images"));
    for (size_t i = 0; i < count; i++) {
        table_cell(&table, "%s", errors->model->class_names[most[i].label]);
        table_cell(&table, "%s", errors->model->class_names[most[i].guess]);
        table_cell(&table, "%u", (unsigned)most[i].count);
    }
    return output_table(&table);
}

static uint64_t images_without_guess(const struct confusion *confusion)
{
    uint64_t images = 0;
    for (size_t c = 0; c < confusion->classes; c++)
        images += confusion->none[c];
    return images;
}

static int print_confusion(const struct eval_errors *errors)
{
    const struct confusion *confusion = &errors->analysis.confusion;
    const uint64_t none = images_without_guess(confusion);
    output_print("\n");
    if (none)
        output_print(_("The output was NaN for %llu images, which are in no column.\n"),
                     (unsigned long long)none);
    return confusion->classes <= MATRIX_CLASSES ? print_matrix(errors)
                                                : print_most_confused(errors);
}

/* Prints what was asked for. Returns the exit status. */
static int eval_errors_print(const struct eval_errors *errors)
{
    int status = EXIT_DONE;
    if (errors->per_class)
        status = print_classes(errors);
    if (errors->confusion && status == EXIT_DONE)
        status = print_confusion(errors);
    if (errors->wrong)
        output_print(_("%zu misclassified pictures in %s\n"), errors->wrong_written, errors->wrong);
    if (errors->predictions)
        output_print(_("predictions in %s\n"), errors->predictions);
    return status;
}

/* --- JSON --- */

static bool add_confusion(const struct confusion *confusion, struct json *root)
{
    struct json *rows = json_add_array(root, "confusion");
    bool complete = rows;
    for (size_t label = 0; complete && label < confusion->classes; label++) {
        struct json *row = json_add_array(rows, NULL);
        complete = row;
        for (size_t guess = 0; complete && guess < confusion->classes; guess++)
            complete = json_add_count(row, NULL, confusion_count(confusion, label, guess));
    }
    return complete;
}

static bool add_classes(const struct eval_errors *errors, struct json *root)
{
    struct json *rows = json_add_array(root, "per_class");
    bool complete = rows;
    for (size_t c = 0; complete && c < errors->analysis.confusion.classes; c++) {
        const struct class_figures figures = error_analysis_class(&errors->analysis, c);
        struct json *row = json_add_object(rows, NULL);
        complete = row && json_add_string(row, "name", errors->model->class_names[c]) &&
                   json_add_count(row, "images", figures.images) &&
                   json_add_count(row, "predicted", figures.guessed) &&
                   json_add_number(row, "precision", figures.precision) &&
                   json_add_number(row, "recall", figures.recall) &&
                   json_add_number(row, "f1", figures.f1);
    }
    return complete &&
           json_add_number(root, "macro_f1", error_analysis_macro_f1(&errors->analysis));
}

static bool add_calibration(const struct error_analysis *analysis, struct json *root)
{
    struct json *calibration = json_add_object(root, "calibration");
    bool complete =
        calibration && json_add_number(calibration, "error", error_analysis_calibration(analysis));
    struct json *bins = complete ? json_add_array(calibration, "bins") : NULL;
    complete = bins;
    for (size_t b = 0; complete && b < CALIBRATION_BINS; b++) {
        const struct calibration_bin *bin = &analysis->bins[b];
        const double images = (double)bin->images;
        struct json *row = json_add_object(bins, NULL);
        complete =
            row && json_add_number(row, "to", (double)(b + 1) / CALIBRATION_BINS) &&
            json_add_count(row, "images", bin->images) &&
            json_add_number(row, "confidence", bin->images ? bin->confidence / images : NAN) &&
            json_add_number(row, "accuracy", bin->images ? (double)bin->right / images : NAN);
    }
    return complete;
}

/* Adds "confusion", "per_class", "macro_f1", "calibration" and "wrong" as asked for. Returns false
 * if out of memory. */
static bool eval_errors_add(const struct eval_errors *errors, struct json *root)
{
    return (!errors->confusion || add_confusion(&errors->analysis.confusion, root)) &&
           (!errors->per_class ||
            (add_classes(errors, root) && add_calibration(&errors->analysis, root))) &&
           (!errors->wrong || json_add_count(root, "wrong", errors->wrong_written));
}

/* --- the command --- */

/* tinca eval: measures the accuracy and the times of a model file, or of a run's model, on a data
 * set. The operand is a file or a run; model_operand_is_run() decides which. */

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
