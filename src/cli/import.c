/* tinca import: turns logs of other frameworks into runs that are listed, drawn and compared like
 * runs computed here. exchange/logs reads the logs; this file prints what was imported. Files
 * with a model, of the formats in exchange/formats.inc, become saved models and network files. */
#include "exchange/logs/import.h"

#include "base/files/file.h"
#include "cli/command.h"
#include "cli/import_words.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"
#include "exchange/formats.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns whether an operand is standard input. */
static bool is_input(const char *operand)
{
    return strcmp(operand, "-") == 0;
}

/* The list to which imported runs are reported (NULL: they are printed), and whether it is
 * complete: memory may run out. */
struct reports {
    struct json *list;
    bool complete;
};

/* Reports a run. Returns false if memory has run out. */
static bool report(struct reports *reports, const struct import_result *result, const char *path)
{
    if (reports->list)
        reports->complete = import_words_add(reports->list, result, path) && reports->complete;
    else
        import_words_print(path, result);
    return reports->complete;
}

/* Returns why the first training that failed did so; NULL: none failed. */
static const struct error *find_failure(const struct watch *watch)
{
    for (size_t i = 0; i < watch_count(watch); i++)
        if (watch_state(watch, i)->error.kind != ERROR_NONE)
            return &watch_state(watch, i)->error;
    return NULL;
}

/* Reports the trainings that have become runs. Returns false with an error if there is none, or
 * with that of the first training that failed. */
static bool report_trainings(struct reports *reports, const struct watch *watch, const char *path,
                             struct error *error)
{
    const struct error *failure = find_failure(watch);
    bool any = false;
    for (size_t i = 0; i < watch_count(watch); i++) {
        if (!watch_state(watch, i)->run.id[0])
            continue;
        any = true;
        if (!report(reports, &watch_state(watch, i)->run, watch_state(watch, i)->path))
            return error_set_memory(error, "what was imported", 0);
    }
    if (failure) {
        *error = *failure;
        return false;
    }
    return any || error_set(error, ERROR_INPUT, path,
                            "give a folder into which a trainer has written event files, or "
                            "metrics.csv",
                            "no file in it has a loss");
}

/* Imports each training in the folder, which is searched as tinca watch does, by a watch that ends
 * as soon as all files are read. */
static bool import_folder(const struct import_request *request, struct reports *reports,
                          struct error *error)
{
    const struct watch_request all = {
        .import = *request, .sources = &request->path, .count = 1, .input = -1};
    struct watch *watch = watch_open(&all, error);
    if (!watch)
        return false;
    watch_end(watch, false);
    const bool imported = report_trainings(reports, watch, request->path, error);
    watch_free(watch);
    return imported;
}

/* Imports a file, or the files of a folder, and reports the runs. */
static bool import_one(const struct import_request *request, struct reports *reports,
                       struct error *error)
{
    struct import_results results = {0};
    if (request->input == 0 && file_is_directory(request->path))
        return import_folder(request, reports, error);
    const bool imported = import_file(request, &results, error);
    for (size_t i = 0; i < results.count; i++)
        report(reports, &results.items[i], request->path);
    import_results_free(&results);
    return imported;
}

/* Checks that a name is for one run, and that standard input is given once. */
static bool check_sources(const struct import_request *request, const struct operands *operands,
                          struct error *error)
{
    size_t inputs = 0;
    for (size_t i = 0; i < operands->count; i++)
        inputs += is_input(operands->values[i]);
    if (inputs > 1)
        return error_set(error, ERROR_USAGE, "-", "give it once",
                         "standard input is only one source");
    if (inputs > 0 && isatty(STDIN_FILENO))
        return error_set(error, ERROR_USAGE, "-", "write PROGRAM | tinca import -",
                         "standard input is the terminal");
    if (request->name && (operands->count > 1 || file_is_directory(operands->values[0])))
        return error_set(error, ERROR_USAGE, "--name", "leave it out, or import one file",
                         "it names one run, and this may become several");
    return true;
}

/* Makes the next operand the source: a file, a folder or standard input. */
static bool choose_source(struct import_request *request, const char *path, struct error *error)
{
    request->input = 0;
    request->path = path;
    if (!is_input(path))
        return true;
    request->path = "standard input";
    request->input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    return request->input > 0 || error_set_errno(error, "-", NULL, "cannot be read");
}

/* Imports the files one after another and stops at the first that cannot be imported. */
static int import_files(struct import_request *request, const struct operands *operands,
                        bool as_json)
{
    struct error error = {0};
    if (!check_sources(request, operands, &error))
        return output_error(&error);
    struct json *root = as_json ? json_new_object() : NULL;
    struct reports reports = {.list = as_json ? json_add_array(root, "runs") : NULL,
                              .complete = true};
    bool imported = true;
    for (size_t i = 0; imported && i < operands->count; i++) {
        imported = choose_source(request, operands->values[i], &error) &&
                   import_one(request, &reports, &error);
    }
    int status = as_json ? output_json(root, reports.complete) : EXIT_DONE;
    return imported ? status : output_error(&error);
}

struct import_options {
    struct import_request log;
    struct model_import model;
    const char *order, *input;
    bool as_json;
};

/* Returns the format of the model among the operands; NULL: they are logs. */
static const struct format *model_format(const struct operands *operands)
{
    const struct format *format = NULL;
    for (size_t i = 0; i < operands->count && !format; i++)
        format = format_of_model(operands->values[i]);
    return format;
}

/* Refuses the models of other programs that tinca cannot read, with the way to one that it can. */
static bool check_contents(const struct operands *operands, struct error *error)
{
    static const char *const as_safetensors =
        N_("in Python, save its state dict by safetensors.torch.save_file, and import that file");
    static const char *const as_onnx = N_("export the model as ONNX where it was made, and import "
                                          "that file");
    for (size_t i = 0; i < operands->count; i++) {
        const enum content content = content_of(operands->values[i]);
        const bool torch = content == CONTENT_PICKLED || content == CONTENT_OLD_PICKLED;
        if (torch || content == CONTENT_HDF5 || content == CONTENT_TFLITE ||
            content == CONTENT_GGUF)
            return error_set(error, ERROR_INPUT, operands->values[i],
                             torch ? as_safetensors : as_onnx,
                             "it is %s, which tinca does not read", gettext(content_name(content)));
    }
    return true;
}

/* Checks that no option belongs to another kind of file. */
static bool check_options(const struct format *format, size_t operands,
                          const struct import_options *options, struct error *error)
{
    static const char *const of_caffe = N_("it is for networks of Caffe, and this is no such file");
    static const char *const of_torch =
        N_("it is for state dicts of PyTorch, and this is no such file");
    static const char *const of_logs = N_("it is for logs, and this is no such file");
    static const char *const of_models = N_("it is for models, and this is no such file");
    const struct model_import *model = &options->model;
    const bool caffe = format && (format->options & OPTIONS_CAFFE);
    const bool torch = format && (format->options & OPTIONS_NAMES);
    const struct {
        const char *option, *why;
        bool wrong;
    } rules[] = {{OPTION(weights), of_caffe, model->weights && !caffe},
                 {"--channel-order", of_caffe, options->order && !caffe},
                 {"--input", of_caffe, options->input && !caffe},
                 {OPTION(names), of_torch, model->names && !torch},
                 {"--classes", of_torch, model->classes && !torch},
                 {"--name", of_logs, options->log.name && format},
                 {"--output", of_models, model->output && !format},
                 {OPTION(normalise), of_models, model->normalise && !format}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return error_set(error, ERROR_USAGE, rules[i].option, "leave it out", "%s",
                             language_text(rules[i].why));
    return !format || operands == 1 || caffe ||
           error_set(error, ERROR_USAGE, "import", "import it alone",
                     "one of several files is a model");
}

static bool read_input(const char *text, struct shape *shape, struct error *error)
{
    char end;
    if (!text)
        return true;
    if (sscanf(text, "%5zux%5zux%5zu%c", &shape->channels, &shape->height, &shape->width, &end) ==
            3 &&
        shape->channels > 0 && shape->height > 0 && shape->width > 0)
        return true;
    return error_set(error, ERROR_USAGE, "--input",
                     "give channels, height and width, like 3x224x224", "\"%s\" is no such shape",
                     text);
}

/* Imports a model, and prints what was made or what is missing. */
static int import_model(const struct format *format, struct import_options *options,
                        const struct operands *operands)
{
    struct error error = {0};
    struct exchange_report report = {0};
    struct model_import *model = &options->model;
    model->paths = (const char *const *)operands->values;
    model->count = operands->count;
    model->network = options->log.network;
    model->names = model->names ? model->names : "";
    model->normalise = model->normalise ? model->normalise : "";
    model->rgb = options->order && strcmp(options->order, "rgb") == 0;
    const bool imported =
        read_input(options->input, &model->input, &error) && format->import(model, &report, &error);
    const int status = output_report(&report, imported ? NULL : &error, options->as_json);
    exchange_report_free(&report);
    return status;
}

/* Imports logs, or one model. */
static int import_operands(struct import_options *options, const struct operands *operands)
{
    struct error error;
    const struct format *format = model_format(operands);
    if (!check_contents(operands, &error) ||
        !check_options(format, operands->count, options, &error))
        return output_error(&error);
    return format ? import_model(format, options, operands)
                  : import_files(&options->log, operands, options->as_json);
}

enum { LOG_ROWS = 9, MODEL_ROWS = 7 };

static void make_log_rows(struct import_request *log, const char *const *frameworks,
                          struct option_row *rows)
{
    const struct option_row own[LOG_ROWS] = {
        NAME_ROW("framework", "NAME", N_("The framework that wrote the log; without it, detected."),
                 &log->framework, frameworks),
        IMPORT_COLUMNS_OPTION(&log->columns),
        TEXT_ROW("name", "NAME", N_("The run's name; without it, that of the file."), &log->name),
        TEXT_ROW("network", "NET",
                 N_("The network's name, if the log does not give it; PyTorch: the network, a name "
                    "or a file; without it, the built-in one that fits."),
                 &log->network),
        COUNT_ROW("batch", "N",
                  N_("Images per iteration; if neither this nor the log gives them, ms/image is "
                     "unknown."),
                  &log->batch, 1, 65536),
        COUNT_ROW("images", "N", N_("Images per epoch; without it epochs are unknown."),
                  &log->images, 1, (size_t)1 << 40),
        COUNT_ROW("average-loss", "N", N_("The number of losses in Caffe's mean."),
                  &log->average_loss, 1, 10000),
        IMPORT_MACHINE_OPTIONS(log)};
    memcpy(rows, own, sizeof own);
}

static void make_model_rows(struct import_options *options, struct option_row *rows)
{
    static const char *const orders[] = {"bgr", "rgb", NULL};
    static const char *const normalisations[] = {"unit",    "unit256",  "signed",   "caffe",
                                                 "cifar10", "cifar100", "imagenet", NULL};
    struct model_import *model = &options->model;
    const struct option_row own[MODEL_ROWS] = {
        LETTER_TEXT_ROW("output", 'o', "FILE",
                        N_("Models: the saved model to write, FILE.safetensors (unless of PyTorch "
                           "also FILE.json "
                           "beside it); without it, named after the file, in the current folder."),
                        &model->output),
        NAME_ROW("normalise", "NAME",
                 N_("Models: how images are normalised; without it, as the file says, or usual."),
                 &model->normalise, normalisations),
        TEXT_ROW("names", "MAPPING",
                 N_("PyTorch: how the arrays are named: a built-in mapping, a file of one, or "
                    "network; without it, the one that fits."),
                 &model->names),
        COUNT_ROW("classes", "N",
                  N_("PyTorch: the network's classes; without it, those of the state dict."),
                  &model->classes, 1, 1000000),
        TEXT_ROW("weights", "FILE",
                 N_("Caffe: the .caffemodel file of the network; without it only a network file is "
                    "written."),
                 &model->weights),
        NAME_ROW("channel-order", "NAME",
                 N_("Caffe: the channels that the network was trained on; bgr, as Caffe reads "
                    "images, or rgb."),
                 &options->order, orders),
        TEXT_ROW("input", "CxHxW",
                 N_("Caffe: channels, height and width of the images, if the file does not have "
                    "them."),
                 &options->input)};
    memcpy(rows, own, sizeof own);
}

static int import_run(const struct command *command, int argc, char **argv)
{
    struct operands operands;
    struct import_options options = {0};
    const char *frameworks[FORMATS_MOST];
    struct option_row rows[LOG_ROWS + MODEL_ROWS + 2] = {[LOG_ROWS + MODEL_ROWS] =
                                                             OUTPUT_JSON_OPTION(&options.as_json)};
    int status;
    make_log_rows(&options.log, format_names(frameworks, CARRIES_LOG), rows);
    make_model_rows(&options, rows + LOG_ROWS);
    const struct option_set set = {.rows = rows, .operands_min = 1, .operands_max = (size_t)-1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    return import_operands(&options, &operands);
}

const struct command command_import = {
    .name = "import",
    .operands = "LOG...|-|MODEL|NET.prototxt [NET.caffemodel]",
    .summary = N_(
        "Import logs of Caffe, TensorFlow or Keras as runs, or a model of ONNX, PyTorch or Caffe."),
    .details = N_(
        "LOG is the output of the framework, plain or gzip-compressed; - is standard input. From a "
        "Caffe log come "
        "the running mean, the loss of each iteration (Train net output), tests, learning "
        "rates, times, and the text of solver and network; from a TensorFlow log the lines that "
        "name a step and a loss; from a Keras log its progress, one point for each epoch: the "
        "mean of the epoch's losses. PyTorch Lightning's progress, JSON lines, tables (CSV) with a "
        "column of losses and event files of TensorBoard are read as by tinca watch. The studies' "
        "tables, loss_HOST_FRAMEWORK.csv and "
        "times_HOST_FRAMEWORK.csv, give a run for each training in them. A folder is searched for "
        "event files of TensorBoard, as by tinca watch; each training in it becomes a run. "
        "Iterations count from "
        "1. Options override the log; what neither gives stays unknown. No run is overwritten, "
        "and a file that cannot be imported leaves no run. MODEL: an ONNX file becomes a saved "
        "model "
        "and a network file; if it has operators that tinca lacks, they are listed. A state "
        "dict of PyTorch (safetensors) becomes a saved model of a network that has arrays of the "
        "same shapes; those that are missing, unexpected or of another shape are listed. A "
        "network of Caffe, NET.prototxt with the weights NET.caffemodel, becomes the same as an "
        "ONNX "
        "model; a solver file of Caffe is printed as the options of tinca train."),
    .run = import_run,
};
