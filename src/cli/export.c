/* tinca export: writes runs as a session file (JSON), as the studies' CSV files, as tables and
 * event files for other programs, as a picture of their curves, or as a report (Markdown); and
 * models as arrays of NumPy, as an array of C, or for other frameworks (export_model.c). */
#include "exchange/export/export.h"
#include "exchange/export/chart.h"
#include "exchange/export/export_tables.h"
#include "exchange/tensorboard/tensorboard.h"
#include "studies/compare/report.h"

#include "cli/command.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "runs/folder/run_directory.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    FORMAT_JSON,
    FORMAT_CSV,
    FORMAT_PNG,
    FORMAT_SVG,
    FORMAT_PDF,
    FORMAT_MD,
    FORMAT_ONNX,
    FORMAT_CSV_LONG,
    FORMAT_NPZ,
    FORMAT_TFEVENTS,
    FORMAT_TORCH,
    FORMAT_PROTOTXT,
    FORMAT_CAFFE,
    FORMAT_C
};
static const char *const format_names[] = {"json",  "csv",      "png",      "svg", "pdf",
                                           "md",    "onnx",     "csv-long", "npz", "tfevents",
                                           "torch", "prototxt", "caffe",    "c",   NULL};
static const char *const x_names[] = {"iteration", "epoch", "time", NULL}; /* enum chart_x */
enum log_axes { LOG_NONE, LOG_X, LOG_Y, LOG_BOTH };
static const char *const log_names[] = {"none", "x", "y", "both", NULL};

/* The values of the options. */
struct wanted {
    size_t format, x, log;
    bool all;
    const char *target, *size, *picture, *names;
    struct export_onnx_options onnx;
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

static bool write_picture(struct run *const *runs, size_t count, const struct wanted *wanted,
                          enum canvas_format format, const char *path, struct error *error)
{
    struct chart_settings settings = {.format = format,
                                      .x = (enum chart_x)wanted->x,
                                      .log_x = wanted->log == LOG_X || wanted->log == LOG_BOTH,
                                      .log_y = wanted->log == LOG_Y || wanted->log == LOG_BOTH};
    return read_size(wanted->size, &settings, error) &&
           chart_write(runs, count, &settings, path, error);
}

/* FORMAT_PNG to FORMAT_PDF are in the order of enum canvas_format. */
static bool is_chart(size_t format)
{
    return format >= FORMAT_PNG && format <= FORMAT_PDF;
}

static bool write_runs(struct run *const *runs, size_t count, const struct wanted *wanted,
                       struct error *error)
{
    if (wanted->format == FORMAT_CSV)
        return export_csv(runs, count, wanted->target ? wanted->target : ".", error);
    if (wanted->format == FORMAT_CSV_LONG)
        return export_csv_long(runs, count, wanted->target, error);
    if (wanted->format == FORMAT_NPZ)
        return export_npz(runs, count, wanted->target, error);
    if (wanted->format == FORMAT_TFEVENTS)
        return tensorboard_export(runs, count, wanted->target, error);
    if (is_chart(wanted->format))
        return write_picture(runs, count, wanted,
                             CANVAS_PNG + (enum canvas_format)(wanted->format - FORMAT_PNG),
                             wanted->target, error);
    if (wanted->format == FORMAT_MD)
        return (!wanted->picture ||
                write_picture(runs, count, wanted, chart_format_of(wanted->picture),
                              wanted->picture, error)) &&
               report_write(runs, count, wanted->picture, wanted->target, error);
    return export_session(runs, count, wanted->target, error);
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

/* Returns whether the format is one of models alone. */
static bool is_of_models(size_t format)
{
    return format == FORMAT_ONNX || format >= FORMAT_TORCH;
}

/* Checks that the operands are runs, or one model and a format of models. */
static bool check_operands(const struct wanted *wanted, const struct operands *operands,
                           struct error *error)
{
    const bool takes_models = is_of_models(wanted->format) || wanted->format == FORMAT_NPZ;
    const bool one = operands->count == 1 && !wanted->all;
    if (wanted->all && operands->count > 0)
        return error_set(error, ERROR_USAGE, "--all", "leave out one of the two",
                         "runs were named as well");
    if (!wanted->all && operands->count == 0)
        return error_set(error, ERROR_USAGE, "export", "name them, or give --all",
                         "no run was named");
    if (is_of_models(wanted->format) && !one)
        return error_set(error, ERROR_USAGE, "export", "name one",
                         "a file of this format has one model");
    for (size_t i = 0; i < operands->count && !(takes_models && one); i++) {
        const enum export_operand kind = export_operand_kind(operands->values[i], error);
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
    const bool onnx = wanted->format == FORMAT_ONNX, torch = wanted->format == FORMAT_TORCH;
    if (wanted->picture && wanted->format != FORMAT_MD)
        return error_set(error, ERROR_USAGE, "--picture",
                         "add --format md, or use --format png -o FILE", "it belongs to a report");
    if (wanted->picture && wanted->target && output_file_is_stdout(wanted->picture) &&
        output_file_is_stdout(wanted->target))
        return error_set(error, ERROR_USAGE, "--picture", "name a file for one of them",
                         "report and picture cannot both go to standard output");
    if (!onnx && (wanted->onnx.fold || wanted->onnx.integers))
        return error_set(error, ERROR_USAGE,
                         wanted->onnx.fold ? "--fold-batch-norm" : "--int8-weights",
                         "add --format onnx", "it is for models");
    if (!torch && wanted->names)
        return error_set(error, ERROR_USAGE, OPTION(names), "add --format torch",
                         "it is for state dicts of PyTorch");
    return onnx || torch || !wanted->onnx.precision ||
           error_set(error, ERROR_USAGE, OPTION(save_precision),
                     "add --format onnx or --format torch", "it is for models");
}

/* Checks that options and operands fit each other. */
static bool check(const struct wanted *wanted, const struct operands *operands, struct error *error)
{
    return check_options(wanted, error) && check_operands(wanted, operands, error) &&
           (wanted->format == FORMAT_CSV || wanted->target ||
            error_set(error, ERROR_USAGE, "export", "give -o FILE", "no file was named"));
}

/* Writes what a run has recorded, or the arrays of a model, as NumPy's. */
static bool write_arrays(const struct operands *operands, const struct wanted *wanted,
                         size_t *damaged, struct error *error)
{
    const char *first = operands->values[0];
    struct run *run;
    if (wanted->all || operands->count > 1 || export_operand_kind(first, error) == OPERAND_RUN)
        return export_runs(operands, wanted, damaged, error);
    char *model = export_model_find(first, &run, error);
    const bool written = model && export_npz_model(model, wanted->target, error);
    run_free(run);
    free(model);
    return written;
}

/* Writes a model, or that of a run, as an array of C. */
static bool write_c_array(const char *operand, const char *target, struct error *error)
{
    struct run *run;
    char *model = export_model_find(operand, &run, error);
    const bool written = model && export_c_array(model, target, error);
    run_free(run);
    free(model);
    return written;
}

/* Writes the model or the runs. */
static bool write_document(const struct operands *operands, const struct wanted *wanted,
                           size_t *damaged, struct error *error)
{
    const char *first = operands->values[0];
    if (wanted->format == FORMAT_ONNX)
        return export_onnx(first, &wanted->onnx, wanted->target, error);
    if (wanted->format == FORMAT_TORCH)
        return export_torch(first, wanted->names, wanted->onnx.precision, wanted->target, error);
    if (wanted->format == FORMAT_PROTOTXT || wanted->format == FORMAT_CAFFE)
        return export_caffe(first, wanted->target, wanted->format == FORMAT_CAFFE, error);
    if (wanted->format == FORMAT_C)
        return write_c_array(first, wanted->target, error);
    if (wanted->format == FORMAT_NPZ)
        return write_arrays(operands, wanted, damaged, error);
    return export_runs(operands, wanted, damaged, error);
}

static int export_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct wanted wanted = {0};
    size_t damaged = 0;
    int status;
    const struct option_row rows[] = {
        OUTPUT_FORMAT_OPTION(&wanted.format, format_names, &wanted.target),
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("The output: a file, or a folder (tfevents; csv, without it the current one). "
                    "- is standard output."),
         .kind = OPTION_TEXT,
         .value = &wanted.target},
        {.name = "all",
         .help = N_("Write all runs that tinca runs lists."),
         .kind = OPTION_SWITCH,
         .value = &wanted.all},
        {.name = "picture",
         .argument = "FILE",
         .help =
             N_("Reports (md): write the curves to FILE (.png, .svg or .pdf) too, and link them."),
         .kind = OPTION_TEXT,
         .value = &wanted.picture},
        {.name = "x",
         .argument = "NAME",
         .help = N_("Charts: what the x axis counts."),
         .kind = OPTION_CHOICE,
         .value = &wanted.x,
         .choices = x_names},
        {.name = "log",
         .argument = "AXES",
         .help = N_("Charts: which axes are logarithmic."),
         .kind = OPTION_CHOICE,
         .value = &wanted.log,
         .choices = log_names},
        {.name = "size",
         .argument = "WxH",
         .help = N_("Charts: width and height, in pixels (png) or points of 1/72 inch (svg, pdf)."),
         .kind = OPTION_TEXT,
         .value = &wanted.size},
        EXPORT_ONNX_OPTIONS(&wanted.onnx),
        EXPORT_TORCH_OPTIONS(&wanted.names),
        {0}};
    const struct option_set set = {.rows = rows, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
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
