/* tinca export: writes runs as a session file (JSON), as the studies' CSV files, as tables and
 * event files for other programs, as a picture of their curves, or as a report (Markdown); and
 * models as arrays of NumPy, as an array of C, or for other frameworks. */
#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "exchange/export/export.h"
#include "exchange/formats.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_directory.h"
#include "runs/history/seed_group.h"
#include "studies/compare/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const integer_names[] = {"uint8", "int8", NULL};
static const char *const x_names[] = {"iteration", "epoch", "time", NULL}; /* enum chart_x */
enum log_axes { LOG_NONE, LOG_X, LOG_Y, LOG_BOTH };
static const char *const log_names[] = {"none", "x", "y", "both", NULL};

/* The values of the options. */
struct wanted {
    const struct format *format;
    size_t x, log;
    bool all;
    const char *target, *size, *picture;
    const char *precision, *integers; /* NULL: not given */
    struct model_export model;
};

/* Reads "WIDTHxHEIGHT". If `text` is NULL, chart_write chooses the size. */
static bool read_size(const char *text, struct chart_settings *settings, struct error *error)
{
    char end;
    if (!text || sscanf(text, "%zux%zu%c", &settings->width, &settings->height, &end) == 2)
        return true;
    return error_set(error, ERROR_USAGE, "--size", "give WIDTHxHEIGHT, like 1600x1000",
                     "\"%s\" is not a size", text);
}

static bool read_settings(const struct wanted *wanted, struct chart_settings *settings,
                          struct error *error)
{
    *settings = (struct chart_settings){.x = (enum chart_x)wanted->x,
                                        .log_x = wanted->log == LOG_X || wanted->log == LOG_BOTH,
                                        .log_y = wanted->log == LOG_Y || wanted->log == LOG_BOTH};
    return read_size(wanted->size, settings, error);
}

static bool write_runs(struct run *const *runs, size_t count, const struct wanted *wanted,
                       struct error *error)
{
    struct chart_settings settings;
    const char *target = wanted->target ? wanted->target : ".";
    if (!read_settings(wanted, &settings, error))
        return false;
    if (!format_is_report(wanted->format))
        return format_write_runs(wanted->format, runs, count, &settings, target, error);
    if (wanted->picture)
        settings.format = chart_format_of(wanted->picture);
    return (!wanted->picture || chart_write(runs, count, &settings, wanted->picture, error)) &&
           report_write(runs, count, wanted->picture, target, error);
}

/* Prints what is damaged in the run's journal: the export differs from what the run recorded.
 * Returns whether there was anything. */
static bool report_damage(const struct run *run)
{
    if (run_damage(run)->kind == ERROR_NONE)
        return false;
    output_error(run_damage(run));
    return true;
}

/* Opens all runs of the folder of runs, oldest first. */
static bool open_all(struct opened_runs *runs, struct error *error)
{
    char **ids;
    size_t count;
    if (!run_directory_list(&ids, &count, error))
        return false;
    bool opened = count > 0 || error_set(error, ERROR_USAGE, "--all", "train one with tinca train",
                                         "there are no runs");
    for (size_t i = 0; i < count; i++) {
        opened = opened && runs_open_operand(runs, ids[i], error);
        free(ids[i]);
    }
    free(ids);
    return opened;
}

/* Exports the runs. Damaged ones are exported as far as they can be read and counted in *damaged.
 */
static bool export_runs(const struct operands *operands, const struct wanted *wanted,
                        size_t *damaged, struct error *error)
{
    struct opened_runs runs = {0};
    bool opened = !wanted->all || open_all(&runs, error);
    for (size_t i = 0; opened && i < operands->count; i++)
        opened = runs_open_operand(&runs, operands->values[i], error);
    bool written = opened && write_runs(runs.list, runs.count, wanted, error);
    for (size_t i = 0; written && i < runs.count; i++)
        *damaged += report_damage(runs.list[i]);
    runs_close(&runs);
    return written;
}

/* --- the model of an operand --- */

/* Writes why a file is neither a model nor a run. One that is called a safetensors file is opened
 * as one, which says where it is damaged. */
static void explain_file(const char *path, struct error *why)
{
    struct safetensors file;
    if (!network_is_model(path))
        error_set(why, ERROR_INPUT, path,
                  "name a run, which tinca runs lists, or a .safetensors file",
                  "this file is no saved model, and there is no run of this name");
    else if (safetensors_open(&file, path, why)) {
        safetensors_close(&file);
        error_set(why, ERROR_INPUT, path, "copy it again, or save the model again",
                  "the file is no safetensors file: it does not begin with a header");
    }
}

enum operand_kind {
    OPERAND_RUN,   /* a run's folder, or what else may name a run */
    OPERAND_MODEL, /* a safetensors file */
    OPERAND_OTHER, /* a model of another format */
    OPERAND_WRONG  /* a file that is none of them, such as a damaged model */
};

/* Returns what an operand is. The content of a file decides, not its name. A run whose name is also
 * that of a file of another kind is a run. Of OPERAND_WRONG `why` says what is wrong with the file.
 */
static enum operand_kind kind_of_operand(const char *operand, struct error *why)
{
    struct error unused;
    if (seed_group_is_operand(operand) || file_is_directory(operand))
        return OPERAND_RUN;
    if (safetensors_file_is(operand))
        return OPERAND_MODEL;
    const bool is_file = file_exists(operand);
    if (is_file && content_of(operand) == CONTENT_ONNX)
        return OPERAND_OTHER;
    if (!is_file && !network_is_model(operand))
        return OPERAND_RUN;
    char *run = run_directory_find(operand, &unused);
    free(run);
    if (run)
        return OPERAND_RUN;
    explain_file(operand, why);
    return OPERAND_WRONG;
}

static char *model_of_run(const struct run *run, struct error *error)
{
    static const char *const names[] = {"best.safetensors", "weights.safetensors"};
    const struct run_facts *facts = run_facts(run);
    if (!run_trained_by_tinca(facts->imported, facts->id, error))
        return NULL;
    for (size_t i = 0; i < 2; i++) {
        char *path = file_join(facts->directory, names[i]);
        if (!path) {
            error_set_memory(error, "a path", 0);
            return NULL;
        }
        if (file_exists(path))
            return path;
        free(path);
    }
    error_set(error, ERROR_INPUT, facts->id, "wait for its first epoch, or resume it",
              "the run has saved no model");
    return NULL;
}

/* Returns the path of the model that the operand names, which the caller frees: the operand itself,
 * or of a run its best model, or else its last one. *run is then the run, which the caller frees,
 * otherwise NULL. Returns NULL with an error. */
static char *find_model(const char *operand, struct run **run, struct error *error)
{
    *run = NULL;
    const enum operand_kind kind = kind_of_operand(operand, error);
    if (kind == OPERAND_MODEL)
        return memory_copy_text(operand, error);
    if (kind == OPERAND_OTHER)
        error_set(error, ERROR_UNSUPPORTED, operand,
                  "tinca import makes a safetensors file of it, which can be exported",
                  "this is an ONNX file");
    *run = kind == OPERAND_RUN ? runs_open(operand, error) : NULL;
    char *model = *run ? model_of_run(*run, error) : NULL;
    if (!model) {
        run_free(*run);
        *run = NULL;
    }
    return model;
}

/* --- checks --- */

/* Checks that the operands are runs, or one model and a format of models. */
static bool check_operands(const struct wanted *wanted, const struct operands *operands,
                           struct error *error)
{
    const bool takes_models = wanted->format->export_model;
    const bool one = operands->count == 1 && !wanted->all;
    if (wanted->all && operands->count > 0)
        return error_set(error, ERROR_USAGE, "--all", "leave out one of the two",
                         "runs were named as well");
    if (!wanted->all && operands->count == 0)
        return error_set(error, ERROR_USAGE, "export", "name them, or give --all",
                         "no run was named");
    if (takes_models && !wanted->format->export_runs && !one)
        return error_set(error, ERROR_USAGE, "export", "name one",
                         "a file of this format has one model");
    for (size_t i = 0; i < operands->count && !(takes_models && one); i++) {
        const enum operand_kind kind = kind_of_operand(operands->values[i], error);
        if (kind == OPERAND_WRONG)
            return false;
        if (kind != OPERAND_RUN)
            return error_set(error, ERROR_USAGE, operands->values[i],
                             takes_models
                                 ? N_("name it alone")
                                 : N_("add --format onnx or another of models, or name a run"),
                             "this is a saved model, which has no curves");
    }
    return true;
}

/* Checks that no option belongs to another format. */
static bool check_options(const struct wanted *wanted, struct error *error)
{
    const unsigned takes = wanted->format->options;
    if (wanted->picture && !format_is_report(wanted->format))
        return error_set(error, ERROR_USAGE, "--picture",
                         "add --format md, or use --format png -o FILE", "it belongs to a report");
    if (wanted->picture && wanted->target && output_file_is_stdout(wanted->picture) &&
        output_file_is_stdout(wanted->target))
        return error_set(error, ERROR_USAGE, "--picture", "name a file for one of them",
                         "report and picture cannot both go to standard output");
    if (!(takes & OPTIONS_ONNX) && (wanted->model.fold || wanted->integers))
        return error_set(error, ERROR_USAGE,
                         wanted->model.fold ? "--fold-batch-norm" : "--int8-weights",
                         "add --format onnx", "it is for models");
    if (!(takes & OPTIONS_NAMES) && wanted->model.names)
        return error_set(error, ERROR_USAGE, OPTION(names), "add --format torch",
                         "it is for state dicts of PyTorch");
    return (takes & OPTIONS_PRECISION) || !wanted->precision ||
           error_set(error, ERROR_USAGE, OPTION(save_precision),
                     "add --format onnx or --format torch", "it is for models");
}

/* Checks that options and operands fit each other. */
static bool check(const struct wanted *wanted, const struct operands *operands, struct error *error)
{
    return check_options(wanted, error) && check_operands(wanted, operands, error) &&
           (wanted->format->export_runs == export_csv || wanted->target ||
            error_set(error, ERROR_USAGE, "export", "give -o FILE", "no file was named"));
}

/* --- writing --- */

/* Returns whether an operand names a network whose layers alone are written. */
static bool is_network(const struct format *format, const char *operand)
{
    const char *dot = strrchr(operand, '.');
    return format->carries == CARRIES_NETWORK &&
           ((dot && strcmp(dot, ".json") == 0) || network_is_name(operand));
}

/* Writes the model that an operand names. */
static bool write_model(const char *operand, struct wanted *wanted, struct error *error)
{
    struct exchange_report report = {0};
    struct model_export *request = &wanted->model;
    struct run *run = NULL;
    const bool network = is_network(wanted->format, operand);
    char *model = network ? NULL : find_model(operand, &run, error);
    char *record = run && model ? model_record(run, error) : NULL;
    for (size_t i = 0; wanted->precision && weights_format_names[i]; i++)
        if (strcmp(wanted->precision, weights_format_names[i]) == 0)
            request->format = (enum weights_format)i;
    request->format_given = wanted->precision;
    request->signed_weights = wanted->integers && strcmp(wanted->integers, "int8") == 0;
    request->names = request->names ? request->names : "";
    request->model = model;
    request->network = operand;
    request->record = record;
    const bool written = (network || (model && (record || !run))) &&
                         wanted->format->export_model(request, wanted->target, &report, error);
    if (output_file_is_stdout(wanted->target))
        report.result.length = 0;
    if (written)
        output_report(&report, NULL, false);
    exchange_report_free(&report);
    free(record);
    free(model);
    run_free(run);
    return written;
}

/* Writes the model or the runs. */
static bool write_document(const struct operands *operands, struct wanted *wanted, size_t *damaged,
                           struct error *error)
{
    const struct format *format = wanted->format;
    const bool runs = format->export_runs && format->export_model &&
                      (wanted->all || operands->count > 1 ||
                       kind_of_operand(operands->values[0], error) == OPERAND_RUN);
    if (format->export_model && !runs)
        return write_model(operands->values[0], wanted, error);
    return export_runs(operands, wanted, damaged, error);
}

enum { RUN_ROWS = 7, MODEL_ROWS = 4 };

static void make_run_rows(struct wanted *wanted, size_t *format, const char *const *names,
                          struct option_row *rows)
{
    const struct option_row own[RUN_ROWS] = {
        OUTPUT_FORMAT_OPTION(format, names, &wanted->target),
        LETTER_TEXT_ROW(
            "output", 'o', "FILE",
            N_("The output: a file, or a folder (tfevents; csv, without it the current one). "
               "- is standard output."),
            &wanted->target),
        SWITCH_ROW("all", N_("Write all runs that tinca runs lists."), &wanted->all),
        {.name = "picture",
         .argument = "FILE",
         .help =
             N_("Reports (md): write the curves to FILE (.png, .svg or .pdf) too, and link them."),
         .kind = OPTION_TEXT,
         .value = &wanted->picture},
        CHOICE_ROW("x", "NAME", N_("Charts: what the x axis counts."), &wanted->x, x_names),
        CHOICE_ROW("log", "AXES", N_("Charts: which axes are logarithmic."), &wanted->log,
                   log_names),
        TEXT_ROW("size", "WxH",
                 N_("Charts: width and height, in pixels (png) or points of 1/72 inch (svg, pdf)."),
                 &wanted->size)};
    memcpy(rows, own, sizeof own);
}

static void make_model_rows(struct wanted *wanted, struct option_row *rows)
{
    const struct option_row own[MODEL_ROWS] = {
        SWITCH_ROW("fold-batch-norm", N_("ONNX: make batch norms part of the layers before them."),
                   &wanted->model.fold),
        NAME_ROW("save-precision", "NAME",
                 N_("Models: number format of the weights; without it, the model's."),
                 &wanted->precision, weights_format_names),
        NAME_ROW("int8-weights", "TYPE",
                 N_("ONNX: uint8, exact on every processor, or int8, faster where it has VNNI."),
                 &wanted->integers, integer_names),
        TEXT_ROW("names", "MAPPING",
                 N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "
                    "network; without it, the usual one for the network."),
                 &wanted->model.names)};
    memcpy(rows, own, sizeof own);
}

static int export_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct wanted wanted = {0};
    size_t damaged = 0, format = 0;
    int status;
    const char *names[FORMATS_MOST];
    struct option_row rows[RUN_ROWS + MODEL_ROWS + 1] = {0};
    make_run_rows(&wanted, &format, format_names(names, CARRIES_EXPORTED), rows);
    make_model_rows(&wanted, rows + RUN_ROWS);
    const struct option_set set = {.rows = rows, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    wanted.format = format_named(names[format], CARRIES_EXPORTED);
    if (!check(&wanted, &operands, &error))
        return output_error(&error);
    if (!write_document(&operands, &wanted, &damaged, &error))
        return output_error(&error);
    return damaged > 0 ? EXIT_FAILED : EXIT_DONE;
}

const struct command command_export = {
    .name = "export",
    .operands = "RUN...|MODEL|NETWORK",
    .summary = N_("Write runs as a session file (JSON), CSV, NumPy's arrays, TensorBoard's events, "
                  "a chart, or a report; or a model for ONNX, PyTorch, Caffe or C, or as arrays."),
    .details =
        N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its "
           "folder; RUN@seeds is all runs of its group of seeds. A session file is described by "
           "docs/session.schema.json; the CSV files "
           "are loss_HOST_tinca.csv and times_HOST_tinca.csv. csv-long is one table with a row for "
           "each value: run, series, step, epoch, time, value. npz has an array for each series, "
           "or for each array of MODEL, for numpy.load. tfevents writes a folder for TensorBoard, "
           "with a folder for each run. The chart (PNG, SVG, PDF) shows "
           "the curves of one run, or those of several over each other. The report (Markdown) "
           "holds settings, results, findings, times with intervals and memory, of several "
           "runs also the table of tinca compare. An ONNX file has the network in inference and "
           "its weights: of MODEL, a saved model, or of a run's best model. A state dict of "
           "PyTorch (torch) is a safetensors file of the weights alone, with PyTorch's names. Of "
           "Caffe's files "
           "prototxt has the layers, also of NETWORK, a name or a network file; caffe also "
           "writes the weights, into the .caffemodel file beside it. An array of C (c) has the "
           "bytes of MODEL, for a program with libtinca."),
    .run = export_run,
};
