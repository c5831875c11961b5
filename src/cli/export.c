/* tinca export: writes runs as a session file (JSON), as the studies' CSV files, as a picture of
 * their curves, or as a report (Markdown), and models as ONNX files (export_onnx.c)
 * or as networks of Caffe (export_caffe.c). */
#include "session/export/export.h"
#include "session/compare/report.h"
#include "session/export/chart.h"

#include "cli/command.h"
#include "cli/export_caffe.h"
#include "cli/export_onnx.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/weights/safetensors.h"
#include "engine/weights/weights.h"

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
    FORMAT_PROTOTXT,
    FORMAT_CAFFE
};
static const char *const format_names[] = {"json", "csv",  "png",      "svg",   "pdf",
                                           "md",   "onnx", "prototxt", "caffe", NULL};
static const char *const x_names[] = {"iteration", "epoch", "time", NULL}; /* enum chart_x */
enum log_axes { LOG_NONE, LOG_X, LOG_Y, LOG_BOTH };
static const char *const log_names[] = {"none", "x", "y", "both", NULL};

/* The values of the options. */
struct wanted {
    size_t format, x, log;
    const char *target, *size, *picture;
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

/* Exports the runs. Damaged ones are exported as far as they can be read and counted in *damaged.
 */
static bool export_runs(const struct operands *operands, const struct wanted *wanted,
                        size_t *damaged, struct error *error)
{
    struct opened_runs runs = {0};
    bool opened = true;
    for (size_t i = 0; opened && i < operands->count; i++)
        opened = runs_open_operand(&runs, operands->values[i], error);
    bool written = opened && write_runs(runs.list, runs.count, wanted, error);
    for (size_t i = 0; written && i < runs.count; i++)
        *damaged += report_damage(runs.list[i]);
    runs_close(&runs);
    return written;
}

/* Returns whether a format is one of models, not of runs. */
static bool is_of_models(size_t format)
{
    return format >= FORMAT_ONNX;
}

/* Checks that options and operands fit each other: a saved model can only become a model's file. */
static bool check(const struct wanted *wanted, const struct operands *operands, struct error *error)
{
    const bool onnx = wanted->format == FORMAT_ONNX, models = is_of_models(wanted->format);
    if (wanted->picture && wanted->format != FORMAT_MD)
        return error_set(error, ERROR_USAGE, "--picture",
                         "add --format md, or use --format png -o FILE", "it belongs to a report");
    if (wanted->picture && wanted->target && output_file_is_stdout(wanted->picture) &&
        output_file_is_stdout(wanted->target))
        return error_set(error, ERROR_USAGE, "--picture", "name a file for one of them",
                         "report and picture cannot both go to standard output");
    if (!onnx && (wanted->onnx.fold || wanted->onnx.precision || wanted->onnx.integers))
        return error_set(error, ERROR_USAGE,
                         wanted->onnx.fold        ? "--fold-batch-norm"
                         : wanted->onnx.precision ? "--save-precision"
                                                  : "--int8-weights",
                         "add --format onnx", "it is for models");
    for (size_t i = 0; !models && i < operands->count; i++)
        if (safetensors_file_is(operands->values[i]))
            return error_set(error, ERROR_USAGE, operands->values[i],
                             "add --format onnx or caffe, or name a run",
                             "this is a saved model, which has no curves");
    if (models && operands->count > 1)
        return error_set(error, ERROR_USAGE, "export", "name one",
                         "a file of this format has one model");
    return wanted->format == FORMAT_CSV || wanted->target ||
           error_set(error, ERROR_USAGE, "export", "give -o FILE", "no file was named");
}

static int export_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    struct operands operands;
    struct wanted wanted = {0};
    size_t damaged = 0;
    int status;
    const struct option_row rows[] = {
        {.name = "format",
         .argument = "NAME",
         .help = N_("What to write."),
         .kind = OPTION_CHOICE,
         .value = &wanted.format,
         .choices = format_names},
        {.name = "output",
         .letter = 'o',
         .argument = "FILE",
         .help = N_("The output: a file, or a folder (csv; without it the current one). - is "
                    "standard output."),
         .kind = OPTION_TEXT,
         .value = &wanted.target},
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
        {0}};
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!check(&wanted, &operands, &error))
        return output_error(&error);
    if (wanted.format == FORMAT_ONNX &&
        export_onnx(operands.values[0], &wanted.onnx, wanted.target, &error))
        return EXIT_DONE;
    if (wanted.format > FORMAT_ONNX &&
        export_caffe(operands.values[0], wanted.target, wanted.format == FORMAT_CAFFE, &error))
        return EXIT_DONE;
    if (!is_of_models(wanted.format) && export_runs(&operands, &wanted, &damaged, &error))
        return damaged > 0 ? EXIT_FAILED : EXIT_DONE;
    return output_error(&error);
}

const struct command command_export = {
    .name = "export",
    .operands = "RUN...|MODEL|NETWORK",
    .summary = N_("Write runs as a session file (JSON), the studies' CSV files, a chart, or a "
                  "report; or a model as an ONNX file or a Caffe network."),
    .details =
        N_("RUN is an ID that tinca runs lists, the beginning of one, a run's name, or its "
           "folder; RUN@seeds is all runs of its group of seeds. A session file is described by "
           "docs/session.schema.json; the CSV files "
           "are loss_HOST_tinca.csv and times_HOST_tinca.csv. The chart (PNG, SVG, PDF) shows "
           "the curves of one run, or those of several over each other. The report (Markdown) "
           "holds settings, results, findings, times with intervals and memory, of several "
           "runs also the table of tinca compare. An ONNX file has the network in inference and "
           "its weights: of MODEL, a saved model, or of a run's best model. So have Caffe's files: "
           "prototxt writes the layers, also of NETWORK, a name or a network file; caffe also "
           "writes the weights, into the .caffemodel file beside it."),
    .run = export_run,
};
