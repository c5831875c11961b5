/* tinca import: turns logs of other frameworks into runs that are listed, drawn and compared like
 * runs computed here. exchange/logs reads the logs; this file prints what was imported. ONNX
 * files, state dicts of PyTorch and networks of Caffe become saved models (import_onnx.c,
 * import_torch.c, import_caffe.c). */
#include "exchange/logs/import.h"

#include "cli/command.h"
#include "cli/import_words.h"
#include "cli/internal.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/language.h"
#include "engine/weights/safetensors.h"
#include "exchange/onnx/onnx.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns whether an operand is standard input. */
static bool is_input(const char *operand)
{
    return strcmp(operand, "-") == 0;
}

static bool add_json(struct json *list, const struct import_result *result, const char *path)
{
    struct json *object = json_add_object(list, NULL);
    return json_add_string(object, "id", result->id) && json_add_string(object, "file", path) &&
           json_add_string(object, "framework", result->framework) &&
           json_add_count(object, "iterations", result->iterations) &&
           json_add_count(object, "validations", result->validations) &&
           json_add_count(object, "damaged_lines", result->notes.damaged) &&
           json_add_count(object, "replaced", result->notes.replaced);
}

/* Prints a line about the imported run, and notes about lines that were left out or repeated. */
static void print_result(const struct import_result *result, const char *path)
{
    output_print(ngettext("%s: %s, %llu point from %s\n", "%s: %s, %llu points from %s\n",
                          result->iterations),
                 result->id, result->framework, (unsigned long long)result->iterations, path);
    import_words_print(path, &result->notes);
}

/* Reports what was imported from one file, in `list` if there is one. False if out of memory.
 */
static bool report(struct json *list, const struct import_results *results, const char *path)
{
    bool complete = true;
    for (size_t i = 0; i < results->count; i++) {
        if (list)
            complete = complete && add_json(list, &results->items[i], path);
        else
            print_result(&results->items[i], path);
    }
    return complete;
}

/* The list to which imported runs are reported (NULL: they are printed), and whether it is
 * complete: memory may run out. */
struct reports {
    struct json *list;
    bool complete;
};

static bool report_training(struct reports *reports, const struct watch_state *training)
{
    struct import_result result = {.iterations = training->points,
                                   .validations = training->validations,
                                   .notes = training->notes};
    const struct import_results results = {.items = &result, .count = 1};
    snprintf(result.id, sizeof result.id, "%s", training->id);
    snprintf(result.framework, sizeof result.framework, "%s", training->framework);
    reports->complete = report(reports->list, &results, training->path) && reports->complete;
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
        if (!watch_state(watch, i)->id[0])
            continue;
        any = true;
        if (!report_training(reports, watch_state(watch, i)))
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
    reports->complete = report(reports->list, &results, request->path) && reports->complete;
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
    struct import_request request;
    struct import_onnx_options onnx; /* --output, --normalise and --json are those of all models */
    struct import_torch_options torch;
    struct import_caffe_options caffe;
};

/* The kinds of files that can be imported. */
enum import_kind { IMPORT_LOGS, IMPORT_ONNX, IMPORT_TORCH, IMPORT_CAFFE };

static enum import_kind kind_of(const struct operands *operands)
{
    enum import_kind kind = import_caffe_is(operands) ? IMPORT_CAFFE : IMPORT_LOGS;
    for (size_t i = 0; i < operands->count && kind == IMPORT_LOGS; i++)
        kind = onnx_file_is(operands->values[i])          ? IMPORT_ONNX
               : safetensors_file_is(operands->values[i]) ? IMPORT_TORCH
                                                          : IMPORT_LOGS;
    return kind;
}

/* Checks that no option belongs to another kind of file. */
static bool check_options(enum import_kind kind, const struct operands *operands,
                          const struct import_options *options, struct error *error)
{
    const struct import_onnx_options *onnx = &options->onnx;
    const struct import_torch_options *torch = &options->torch;
    const struct import_caffe_options *caffe = &options->caffe;
    if (kind != IMPORT_CAFFE && (caffe->weights || caffe->order || caffe->input))
        return error_set(error, ERROR_USAGE,
                         caffe->weights ? OPTION(weights)
                         : caffe->order ? "--channel-order"
                                        : "--input",
                         "leave it out", "it is for networks of Caffe, and this is no such file");
    if ((kind == IMPORT_ONNX || kind == IMPORT_TORCH) && operands->count > 1)
        return error_set(error, ERROR_USAGE, "import", "import it alone",
                         "one of several files is a model");
    if (kind != IMPORT_TORCH && (torch->names || torch->classes))
        return error_set(error, ERROR_USAGE, torch->names ? OPTION(names) : "--classes",
                         "leave it out",
                         "it is for state dicts of PyTorch, and this is no such file");
    if (kind != IMPORT_LOGS && options->request.name)
        return error_set(error, ERROR_USAGE, "--name", "leave it out",
                         "it is for logs, and this is no such file");
    return kind != IMPORT_LOGS || (!onnx->output && !onnx->normalise) ||
           error_set(error, ERROR_USAGE, onnx->output ? "--output" : OPTION(normalise),
                     "leave it out", "it is for models, and this is no such file");
}

/* Imports logs, or one model. */
static int import_operands(struct import_options *options, const struct operands *operands)
{
    struct error error;
    struct import_onnx_options *onnx = &options->onnx;
    struct import_torch_options *torch = &options->torch;
    const enum import_kind kind = kind_of(operands);
    if (!check_options(kind, operands, options, &error))
        return output_error(&error);
    torch->output = onnx->output;
    torch->normalise = onnx->normalise;
    torch->network = options->request.network;
    torch->as_json = onnx->as_json;
    switch (kind) {
    case IMPORT_CAFFE:
        return import_caffe_network(operands, &options->caffe, onnx->output, onnx->normalise,
                                    onnx->as_json);
    case IMPORT_TORCH:
        return import_torch(operands->values[0], torch);
    case IMPORT_ONNX:
        return import_onnx(operands->values[0], onnx);
    default:
        return import_files(&options->request, operands, onnx->as_json);
    }
}

static int import_run(const struct command *command, int argc, char **argv)
{
    struct operands operands;
    struct import_options options = {0};
    int status;
    const struct option_row rows[] = {
        {.name = "framework",
         .argument = "NAME",
         .help = N_("The framework that wrote the log; without it, detected."),
         .kind = OPTION_NAME,
         .value = &options.request.framework,
         .choices = import_frameworks},
        IMPORT_COLUMNS_OPTION(&options.request.columns),
        {.name = "name",
         .argument = "NAME",
         .help = N_("The run's name; without it, that of the file."),
         .kind = OPTION_TEXT,
         .value = &options.request.name},
        {.name = "network",
         .argument = "NET",
         .help = N_("The network's name, if the log does not give it; PyTorch: the network, a name "
                    "or a file; without it, the built-in one that fits."),
         .kind = OPTION_TEXT,
         .value = &options.request.network},
        {.name = "batch",
         .argument = "N",
         .help = N_(
             "Images per iteration; if neither this nor the log gives them, ms/image is unknown."),
         .kind = OPTION_COUNT,
         .value = &options.request.batch,
         .low = 1,
         .high = 65536},
        {.name = "images",
         .argument = "N",
         .help = N_("Images per epoch; without it epochs are unknown."),
         .kind = OPTION_COUNT,
         .value = &options.request.images,
         .low = 1,
         .high = (size_t)1 << 40},
        {.name = "average-loss",
         .argument = "N",
         .help = N_("The number of losses in Caffe's mean."),
         .kind = OPTION_COUNT,
         .value = &options.request.average_loss,
         .low = 1,
         .high = 10000},
        IMPORT_MACHINE_OPTIONS(&options.request),
        IMPORT_ONNX_OPTIONS(&options.onnx),
        IMPORT_TORCH_OPTIONS(&options.torch),
        IMPORT_CAFFE_OPTIONS(&options.caffe),
        OUTPUT_JSON_OPTION(&options.onnx.as_json),
        {0}};
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
        "mean of the epoch's losses. The studies' tables, loss_HOST_FRAMEWORK.csv and "
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
