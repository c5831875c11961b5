/* tinca predict: runs a saved model on pictures. The most probable classes of a classifier are
 * written as text, CSV or JSON (predict_rows.h); the pictures that a generator (pix2pix) makes are
 * written to --output. A picture that cannot be read is named on standard error and counted, and
 * the others are still computed; the exit status is then 1. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop_signal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/formats/scan.h"
#include "engine/ops/class_outputs.h"
#include "engine/ops/op.h"
#include "models/measure/model_operand.h"
#include "models/saved/predict_rows.h"
#include "models/saved/predictor.h"
#include "models/saved/translate.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct predict {
    struct model model;
    char *model_path;
    struct name_list paths, lists; /* the pictures, and the files that have named them */
    struct predict_rows rows;      /* of a classifier */
    struct predict_raw raw;
    const char *output; /* a file, or for pictures that are made also a folder */
    bool as_json, continues;
    bool goes_on; /* a batch was computed */
    size_t format;
    struct json *list; /* with as_json */
};

static const char continue_advice[] = N_("the same command with --continue goes on");

/* --- classes --- */

static bool add_picture(void *context, size_t index, const float *output,
                        const struct error *broken, struct error *error)
{
    struct predict *predict = context;
    if (index < predict->rows.done) /* computed again, to compare */
        return predict_rows_add(&predict->rows, index, output, broken, error);
    if (broken)
        output_error(broken);
    predict_raw_add(&predict->raw, output);
    if (predict->model.network->classes == 0) {
        predict->rows.broken += broken != NULL;
        return true;
    }
    return predict_rows_add(&predict->rows, index, output, broken, error);
}

/* Writes what was computed, the array first: the rows say how far a prediction has come. */
static bool end_batch(void *context, struct error *error)
{
    struct predict *predict = context;
    if (!predict_raw_flush(&predict->raw, error) || !predict_rows_flush(&predict->rows, error))
        return false;
    if (predict->rows.done > 0 && !predict->goes_on)
        output_note(_("%zu of %zu pictures have their rows already\n"), predict->rows.done,
                    predict->paths.count);
    predict->goes_on = true;
    if (!stop_signal_came())
        return true;
    return error_set(error, ERROR_INTERRUPTED, "predict",
                     predict_rows_part(&predict->rows) ? continue_advice : NULL,
                     "stopped by a signal");
}

/* Opens the outputs and, with --continue, finds out where to go on. */
static bool open_outputs(struct predict *predict, bool rows, struct error *error)
{
    struct predict_rows *const table = &predict->rows;
    const size_t count = predict->paths.count;
    if (!predict_raw_open(&predict->raw, &predict->model, count, predict->continues, error) ||
        (rows && !predict_rows_open(table, predict->continues, &predict->raw, error)) ||
        !predict_raw_begin(&predict->raw, &predict->model, table->done, error))
        return false;
    return true;
}

/* Reports why the prediction has ended. Returns the exit status. */
static int report_end(const struct predict *predict, const struct error *error)
{
    const char *part = predict_rows_part(&predict->rows);
    output_error(error);
    if (error->kind == ERROR_INTERRUPTED)
        return EXIT_INTERRUPTED;
    if (part && error->kind == ERROR_SYSTEM)
        output_note("%s: %s\n", part, language_text(continue_advice));
    return EXIT_FAILED;
}

static void report_broken(const struct predict *predict)
{
    if (predict->rows.broken > 0 && predict->paths.count > 1)
        output_note(ngettext("%zu of %zu pictures could not be read\n",
                             "%zu of %zu pictures could not be read\n", predict->rows.broken),
                    predict->rows.broken, predict->paths.count);
}

/* Computes all pictures in batches, for rows and the array. */
static int predict_batches(struct predict *predict, bool rows)
{
    struct error error;
    struct predictor_request request = {
        .model = &predict->model, .paths = predict->paths.name, .count = predict->paths.count};
    if (!open_outputs(predict, rows, &error))
        return output_error(&error);
    request.first = predict->rows.first;
    stop_signal_catch();
    if (!predictor_run(&request, add_picture, end_batch, predict, &error) ||
        !end_batch(predict, &error) || !predict_raw_commit(&predict->raw, &error) ||
        !predict_rows_commit(&predict->rows, &error))
        return report_end(predict, &error);
    report_broken(predict);
    return predict->rows.broken ? EXIT_FAILED : EXIT_DONE;
}

/* --- generators: pictures made from pictures --- */

/* Returns whether --output names a folder: one that exists, or a path that ends with a slash. */
static bool is_folder(const char *path)
{
    size_t length = strlen(path);
    return !output_file_is_stream(path) &&
           ((length > 0 && path[length - 1] == '/') || file_is_directory(path));
}

/* Returns the length of a file name without its extension: 5 for "photo.jpg". */
static int stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static bool is_picture(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcasecmp(path + length - 4, ".png") == 0;
}

/* Returns the file to write for a picture: --output itself, or NAME.png in that folder. The caller
 * frees it; NULL if out of memory. */
static char *target_for(const struct predict *predict, const char *path)
{
    struct text target = {0};
    const char *name = file_base_name(path);
    size_t folder = strlen(predict->output);
    while (folder > 1 && predict->output[folder - 1] == '/')
        folder--;
    if (is_folder(predict->output))
        text_append(&target, "%.*s/%.*s.png", (int)folder, predict->output, stem_length(name),
                    name);
    else
        text_append(&target, "%s", predict->output);
    if (!target.failed)
        return target.data;
    text_free(&target);
    return NULL;
}

/* Writes the picture that the network makes of `path`. *complete becomes false when memory is too
 * short for the JSON document. */
static bool translate(struct predict *predict, const char *path, bool *complete,
                      struct error *error)
{
    char *target = target_for(predict, path);
    bool made = target;
    if (!target)
        error_set_memory(error, "a path", 0);
    else if (file_is_same(target, path))
        made = error_set(error, ERROR_USAGE, target, "choose another --output",
                         "this would overwrite the input picture");
    else
        made = model_translate_file(&predict->model, path, target, error);
    if (made && predict->as_json) {
        struct json *object = json_add_object(predict->list, NULL);
        *complete = *complete && json_add_string(object, "image", path) &&
                    json_add_string(object, "output", target);
    } else if (made && !output_file_is_stdout(target)) {
        output_print("%s -> %s\n", path, target);
    }
    free(target);
    return made;
}

static int compare_stems(const void *a, const void *b)
{
    const char *x = file_base_name(*(char *const *)a), *y = file_base_name(*(char *const *)b);
    const int length = stem_length(x), other = stem_length(y);
    const int order = memcmp(x, y, (size_t)(length < other ? length : other));
    return order != 0 ? order : length - other;
}

/* Fails if two pictures would be written to the same file in a folder. */
static bool check_names(const struct name_list *paths, struct error *error)
{
    char **sorted = memory_new(paths->count, sizeof *sorted, "the pictures", error);
    if (!sorted)
        return false;
    memcpy(sorted, paths->name, paths->count * sizeof *sorted);
    qsort(sorted, paths->count, sizeof *sorted, compare_stems);
    bool differ = true;
    for (size_t i = 1; differ && i < paths->count; i++)
        if (compare_stems(&sorted[i - 1], &sorted[i]) == 0)
            differ = error_set(error, ERROR_USAGE, sorted[i], "translate them one by one",
                               "%s would become a file of the same name", sorted[i - 1]);
    free(sorted);
    return differ;
}

/* Computes all pictures. Reports those that cannot be read or written and goes on with the others.
 */
static int translate_all(struct predict *predict)
{
    struct error error;
    int status = EXIT_DONE;
    bool complete = true;
    for (size_t i = 0; i < predict->paths.count; i++)
        if (!translate(predict, predict->paths.name[i], &complete, &error))
            status = output_error(&error);
    if (!complete) {
        error_set_memory(&error, "the JSON document", 0);
        status = output_error(&error);
    }
    return status;
}

/* --- checks --- */

/* Fails if rows, pictures or the JSON document and the array of --raw would go to one place. */
static bool check_raw_output(const struct predict *predict, struct error *error)
{
    const char *raw = predict->raw.path, *other = predict->output ? predict->output : "-";
    if (!raw)
        return true;
    const bool printed = !predict->output || predict->as_json || output_file_is_stdout(other);
    if ((printed && output_file_is_stdout(raw)) || strcmp(raw, other) == 0)
        return error_set(error, ERROR_USAGE, "--raw", "name another file for the array",
                         "the array and other output cannot both go to %s", raw);
    return !predict->output || is_folder(other) || output_files_differ(raw, other, error);
}

/* Fails if a document would overwrite the model, a list of pictures or a picture. */
static bool check_inputs(const struct predict *predict, const char *output, struct error *error)
{
    return !output || is_folder(output) ||
           (output_file_spares(output, &predict->model_path, 1, error) &&
            output_file_spares(output, predict->lists.name, predict->lists.count, error) &&
            output_file_spares(output, predict->paths.name, predict->paths.count, error));
}

static bool check_picture_output(const struct predict *predict, struct error *error)
{
    const struct name_list *paths = &predict->paths;
    if (predict->continues || predict->format != PREDICT_TEXT)
        return error_set(error, ERROR_USAGE, predict->continues ? "--continue" : "--format",
                         "leave it out",
                         "this network makes pictures; it has no classes to predict");
    const struct op *kept = graph_main_probabilities(&predict->model.network->graph);
    if (kept && (predict->output || !predict->raw.path))
        return error_set(error, ERROR_USAGE, predict->model_path,
                         "write its outputs with --raw FILE.npy",
                         "it ends in a %s whose values are neither a picture nor classes of which "
                         "an image has one",
                         kept->name);
    if (!predict->output)
        return predict->raw.path ||
               error_set(error, ERROR_USAGE, paths->name[0],
                         "name the output: -o FILE.png, or -o FOLDER",
                         "this network makes pictures; it has no classes to predict");
    if (is_folder(predict->output))
        return check_names(paths, error) && file_make_directories(predict->output, error);
    if (predict->as_json && output_file_is_stdout(predict->output))
        return error_set(error, ERROR_USAGE, "--output", "name a file for the picture",
                         "picture and JSON cannot both go to standard output");
    return paths->count < 2 ||
           error_set(error, ERROR_USAGE, predict->output, "name a folder that exists, or FOLDER/",
                     "several pictures cannot be written to one file");
}

static bool check_row_output(const struct predict *predict, struct error *error)
{
    if (predict->as_json && (predict->format != PREDICT_TEXT || predict->output))
        return error_set(error, ERROR_USAGE, "--json",
                         "give --format json: a line for each picture",
                         "it prints one document, without --format and --output");
    if (predict->output && (is_folder(predict->output) || is_picture(predict->output)))
        return error_set(error, ERROR_USAGE, "--output", "name a file for the rows",
                         "this network predicts classes; it makes no pictures");
    if (!predict->continues)
        return true;
    return (predict->format == PREDICT_CSV && predict->output &&
            !output_file_is_stream(predict->output)) ||
           error_set(error, ERROR_USAGE, "--continue", "give --format csv and --output FILE.csv",
                     "only a CSV file can be continued");
}

/* --- all pictures --- */

static int predict_classes(struct predict *predict)
{
    const size_t classes = predict->model.network->classes;
    struct json *root = predict->as_json ? json_new_object() : NULL;
    struct predict_rows *rows = &predict->rows;
    rows->format = predict->as_json ? PREDICT_DOCUMENT : (enum predict_format)predict->format;
    rows->model = &predict->model;
    rows->top = rows->top < classes ? rows->top : classes;
    rows->paths = predict->paths.name;
    rows->count = predict->paths.count;
    rows->path = predict->output;
    rows->standard = stdout;
    rows->list = json_add_array(root, "predictions");
    int status = predict_batches(predict, true);
    if (predict->as_json) {
        const int printed = output_json(root, rows->list);
        status = status == EXIT_DONE ? printed : status;
    }
    return status;
}

static int predict_pictures(struct predict *predict)
{
    struct json *root = predict->as_json ? json_new_object() : NULL;
    predict->list = json_add_array(root, "predictions");
    int status = predict->output ? translate_all(predict) : EXIT_DONE;
    if (status == EXIT_DONE && predict->raw.path)
        status = predict_batches(predict, false);
    if (predict->as_json) {
        const int printed = output_json(root, predict->list);
        status = status == EXIT_DONE ? printed : status;
    }
    return status;
}

static int predict_all(struct predict *predict, const struct operands *operands)
{
    const bool classes = predict->model.network->classes > 0;
    struct error error;
    for (size_t i = 1; i < operands->count; i++)
        if (!picture_paths_add(&predict->paths, &predict->lists, operands->values[i], &error))
            return output_error(&error);
    if (predict->paths.count == 0) {
        error_set(&error, ERROR_INPUT, operands->values[1], "give pictures, or a folder of some",
                  "there are no pictures (*.png, *.jpg, *.jpeg) in it");
        return output_error(&error);
    }
    if (!(classes ? check_row_output : check_picture_output)(predict, &error) ||
        !check_raw_output(predict, &error) || !check_inputs(predict, predict->output, &error) ||
        !check_inputs(predict, predict->raw.path, &error))
        return output_error(&error);
    return classes ? predict_classes(predict) : predict_pictures(predict);
}

static void free_predict(struct predict *predict)
{
    predict_rows_close(&predict->rows);
    predict_raw_close(&predict->raw);
    name_list_free(&predict->paths);
    name_list_free(&predict->lists);
    free(predict->model_path);
    model_free(&predict->model);
}

static bool load_model(struct predict *predict, const char *operand,
                       const struct run_config *config, struct error *error)
{
    const struct machine_settings machine = machine_settings(config);
    predict->model_path = model_operand_path(operand, error);
    return predict->model_path &&
           model_load(&predict->model, predict->model_path, machine.device, machine.threads, error);
}

static const char *const formats[] = {"text", "csv", "json", NULL};

static int predict_run(const struct command *command, int argc, char **argv)
{
    struct predict predict = {.rows.top = 5};
    struct run_config config;
    struct error error;
    struct operands operands;
    int status;
    const struct option_row rows[] = {
        COUNT_ROW("top", "K", N_("How many classes are shown, the most probable first."),
                  &predict.rows.top, 1, 1000000),
        LETTER_TEXT_ROW(
            "output", 'o', "FILE",
            N_("The file for the rows; of networks that make pictures the PNG file, or a "
               "folder for several."),
            &predict.output),
        {.name = "format",
         .argument = "NAME",
         .help = N_("text, csv (a row for each picture) or json (a line for each picture)."),
         .kind = OPTION_CHOICE,
         .value = &predict.format,
         .choices = formats,
         .output = &predict.output},
        SWITCH_ROW("continue",
                   N_("Go on with the CSV file of a prediction that was interrupted, FILE.part."),
                   &predict.continues),
        TEXT_ROW("raw", "FILE.npy",
                 N_("Write the network's output for all pictures as an array for NumPy."),
                 &predict.raw.path),
        OUTPUT_JSON_OPTION(&predict.as_json),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &config,
                                   .task = TASK_PREDICT,
                                   .operands_min = 2,
                                   .operands_max = (size_t)-1};
    config_defaults(&config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!load_model(&predict, operands.values[0], &config, &error)) {
        status = output_error(&error);
    } else {
        predict.model.device->strict = machine_settings(&config).strict_device;
        status = model_set_precision(&predict.model, &config, &error)
                     ? predict_all(&predict, &operands)
                     : output_error(&error);
    }
    free_predict(&predict);
    return status;
}

const struct command command_predict = {
    .name = "predict",
    .operands = "MODEL IMAGE|FOLDER|list:FILE...",
    .summary = N_("Classify PNG or JPEG pictures with a saved model, or translate them."),
    .details =
        N_("MODEL is a file that tinca train --save wrote, or a run, whose best weights are "
           "used. Folders are searched, with the folders in them, for PNG and JPEG pictures, in "
           "the order of the names; list:FILE names them in the first column of a CSV file. "
           "Pictures are read ahead while the network computes, in memory that does not "
           "depend on their number. One that cannot be read is named and counted, and the "
           "exit status is then 1. A network that makes pictures (pix2pix) translates each "
           "picture at its size; --output names the result."),
    .run = predict_run,
};
