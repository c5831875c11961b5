/* The operands are a .prototxt file, a .caffemodel file, or both. The network file lies beside the
 * saved model and is called like it. Files that the user has not named are not replaced. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/import_words.h"
#include "cli/output.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/caffe/caffe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const import_caffe_orders[] = {"bgr", "rgb", NULL};

bool import_caffe_is(const struct operands *operands)
{
    for (size_t i = 0; i < operands->count; i++)
        if (caffe_file_kind(operands->values[i]) != CAFFE_NO_FILE)
            return true;
    return false;
}

/* --- names --- */

/* Sets one of the two files of a request; each may be given once. */
static bool set_file(struct caffe_import_request *request, const char *path, struct error *error)
{
    const bool binary = caffe_file_kind(path) == CAFFE_BINARY_FILE;
    const char **place = binary ? &request->weights : &request->network;
    if (caffe_file_kind(path) == CAFFE_NO_FILE)
        return error_set(error, ERROR_USAGE, path, "import it alone",
                         "its name ends neither in .prototxt nor in .caffemodel");
    if (*place)
        return error_set(error, ERROR_USAGE, path, "import one network at a time",
                         "there are two files of this kind");
    *place = path;
    return true;
}

/* Returns a copy of `base` with another ending, which the caller frees; NULL with an error. */
static char *with_ending(const char *base, const char *ending, struct error *error)
{
    const char *dot = strrchr(base, '.'), *slash = strrchr(base, '/');
    const size_t length = dot && dot != base && dot > slash ? (size_t)(dot - base) : strlen(base);
    char *path = memory_new(length + strlen(ending) + 1, 1, "a path", error);
    if (path)
        sprintf(path, "%.*s%s", (int)length, base, ending);
    return path;
}

/* Sets the names of both files, which the caller frees. Returns false with an error. */
static bool choose_names(struct caffe_import_request *request, const char *output, char **model,
                         char **file, struct error *error)
{
    const char *wanted = request->weights ? ".safetensors" : ".json";
    const char *dot = output ? strrchr(output, '.') : NULL;
    const char *base =
        output ? output : file_base_name(request->network ? request->network : request->weights);
    if (output && (!dot || strcmp(dot, wanted) != 0))
        return error_set(error, ERROR_USAGE, output,
                         request->weights ? "give -o FILE.safetensors" : "give -o FILE.json",
                         "the file that is written has the ending %s", wanted);
    if (request->weights && !(*model = with_ending(base, ".safetensors", error)))
        return false;
    if (!(*file = with_ending(base, ".json", error)))
        return false;
    for (size_t i = 0; !output && i < 2; i++) {
        const char *path = i ? *file : *model;
        if (path && file_exists(path))
            return error_set(error, ERROR_INPUT, path, "give -o FILE",
                             "this file exists, and is not replaced unless it is named");
    }
    request->model = *model;
    request->file = *file;
    return true;
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

/* --- results --- */

static void print_images(const struct caffe_import_request *request,
                         const struct caffe_import_result *result)
{
    const struct normalisation *normalisation = &result->normalisation;
    const float *mean = normalisation->mean, *deviation = normalisation->deviation;
    if (result->channels == 3)
        output_print(_("  images   RGB; (%g, %g, %g) are subtracted, then divided by %g\n"),
                     (double)mean[0], (double)mean[1], (double)mean[2], (double)deviation[0]);
    else
        output_print(_("  images   %g is subtracted, then divided by %g\n"), (double)mean[0],
                     (double)deviation[0]);
    if (result->reordered)
        output_note(
            _("tinca: the weights that read the images were brought from BGR, Caffe's order "
              "of channels, to RGB (--channel-order)\n"));
    if (result->mean_file[0])
        output_note(_("tinca: %s: the file of means %s is not read; --normalise chooses a mean\n"),
                    request->network ? request->network : request->weights, result->mean_file);
}

static void print_result(const struct caffe_import_request *request,
                         const struct caffe_import_result *result)
{
    char count[32];
    output_print(_("%s: %zu layers, %s parameters\n"), result->network, result->layers,
                 text_count(result->parameters, count, sizeof count));
    if (request->model)
        output_print(_("  model    %s\n"), request->model);
    output_print(_("  network  %s\n"), request->file);
    print_images(request, result);
    import_words_end(request->network ? request->network : request->weights,
                     result->softmax_left_out, result->kept, result->picture);
    if (result->left_out)
        output_note(ngettext("tinca: %zu more output was left out\n",
                             "tinca: %zu more outputs were left out\n", result->left_out),
                    result->left_out);
    if (result->multipliers)
        output_note(
            ngettext("tinca: %zu layer has lr_mult or decay_mult, which are left out; --rates and "
                     "--freeze of tinca train replace them\n",
                     "tinca: %zu layers have lr_mult or decay_mult, which are left out; --rates "
                     "and --freeze of tinca train replace them\n",
                     result->multipliers),
            result->multipliers);
}

static int print_json(const struct caffe_import_request *request,
                      const struct caffe_import_result *result, bool imported)
{
    struct json *root = json_new_object();
    bool added = root;
    if (imported)
        added = json_add_string(root, "network", result->network) &&
                json_add_count(root, "layers", result->layers) &&
                json_add_count(root, "parameters", result->parameters) &&
                (!request->model || json_add_string(root, "model", request->model)) &&
                json_add_string(root, "file", request->file) &&
                json_add_bool(root, "reordered", result->reordered);
    struct json *list = json_add_array(root, "missing");
    for (size_t i = 0; i < result->missing_count; i++) {
        struct json *object = json_add_object(list, NULL);
        added = json_add_string(object, "layer", result->missing[i].layer) &&
                json_add_string(object, "type", result->missing[i].type) &&
                json_add_string(object, "why", result->missing[i].why) && added;
    }
    return output_json(root, added && list);
}

/* --- solvers --- */

static int print_solver(const char *path, bool as_json)
{
    struct caffe_solver solver;
    struct error error;
    if (!caffe_solver_read(path, &solver, &error))
        return output_error(&error);
    if (as_json) {
        struct json *root = json_new_object();
        bool added = root && json_add_count(root, "iter_size", solver.iter_size);
        struct json *settings = json_add_object(root, "settings");
        for (size_t i = 0; i < solver.count; i++)
            added = json_add_string(settings, solver.settings[i].key, solver.settings[i].value) &&
                    added;
        struct json *list = json_add_array(root, "left_out");
        for (size_t i = 0; i < solver.left_out_count; i++)
            added = json_add_string(list, NULL, solver.left_out[i]) && added;
        return output_json(root, added && settings && list);
    }
    output_print("tinca train NET --data SPEC");
    for (size_t i = 0; i < solver.count; i++)
        output_print(" --%s %s", solver.settings[i].key, solver.settings[i].value);
    output_print("\n");
    if (solver.iter_size > 1)
        output_note(_("tinca: %s: iter_size %zu: give --batch %zu times the batch of Caffe's data "
                      "layer\n"),
                    path, solver.iter_size, solver.iter_size);
    for (size_t i = 0; i < solver.left_out_count; i++)
        output_note(_("tinca: %s: %s is no setting of a training, and was left out\n"), path,
                    solver.left_out[i]);
    return EXIT_DONE;
}

/* --- the command --- */

static bool read_request(const struct operands *operands,
                         const struct import_caffe_options *options, const char *normalise,
                         struct caffe_import_request *request, struct error *error)
{
    request->normalise = normalise ? normalise : "";
    request->rgb = options->order && strcmp(options->order, "rgb") == 0;
    for (size_t i = 0; i < operands->count; i++)
        if (!set_file(request, operands->values[i], error))
            return false;
    if (options->weights && request->weights)
        return error_set(error, ERROR_USAGE, OPTION(weights), "name it once",
                         "there are two files of weights");
    if (options->weights)
        request->weights = options->weights;
    return read_input(options->input, &request->input, error);
}

int import_caffe_network(const struct operands *operands,
                         const struct import_caffe_options *options, const char *output,
                         const char *normalise, bool as_json)
{
    struct error error = {0};
    struct caffe_import_request request = {0};
    struct caffe_import_result result = {0};
    char *model = NULL, *file = NULL;
    int status = EXIT_DONE;
    if (operands->count == 1 && caffe_is_solver(operands->values[0]))
        return print_solver(operands->values[0], as_json);
    const bool imported = read_request(operands, options, normalise, &request, &error) &&
                          choose_names(&request, output, &model, &file, &error) &&
                          caffe_import(&request, &result, &error);
    if (as_json && (imported || result.missing_count > 0))
        status = print_json(&request, &result, imported);
    else if (imported)
        print_result(&request, &result);
    if (!imported) {
        status = output_error(&error);
        for (size_t i = 0; i < result.missing_count && !as_json; i++)
            output_note("  %s %s: %s\n", result.missing[i].type, result.missing[i].layer,
                        result.missing[i].why);
    }
    caffe_import_result_free(&result);
    free(model);
    free(file);
    return status;
}
