/* The network file lies beside the saved model, and is called like it. Files that the user has not
 * named are not replaced. */
#include "cli/internal.h"

#include "cli/command.h"
#include "cli/import_words.h"
#include "cli/output.h"

#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/text.h"
#include "exchange/onnx/onnx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const import_onnx_normalisations[] = {"unit",    "unit256",  "signed",   "caffe",
                                                  "cifar10", "cifar100", "imagenet", NULL};

static const char ending[] = ".safetensors";

/* Sets the names of both files, which the caller frees. Returns false with an error. */
static bool choose_names(const char *path, const char *output, char **model, char **network,
                         struct error *error)
{
    const char *base = output ? output : file_base_name(path);
    const char *dot = strrchr(base, '.');
    const char *slash = strrchr(base, '/');
    const size_t length = dot && dot != base && dot > slash ? (size_t)(dot - base) : strlen(base);
    const size_t size = strlen(base) + sizeof ending;
    *model = memory_new(size, 1, "a path", error);
    *network = memory_new(size, 1, "a path", error);
    if (!*model || !*network)
        return false;
    if (output && (!dot || strcmp(dot, ending) != 0))
        return error_set(error, ERROR_USAGE, output, "give -o FILE.safetensors",
                         "a saved model has the ending %s", ending);
    snprintf(*model, size, "%.*s%s", (int)length, base, ending);
    snprintf(*network, size, "%.*s.json", (int)length, base);
    for (size_t i = 0; !output && i < 2; i++)
        if (file_exists(i ? *network : *model))
            return error_set(error, ERROR_INPUT, i ? *network : *model, "give -o FILE.safetensors",
                             "this file exists, and is not replaced unless it is named");
    return true;
}

/* --- results --- */

static void print_result(const struct onnx_import_request *request,
                         const struct onnx_import_result *result)
{
    char count[32];
    output_print(_("%s: %zu layers, %s parameters\n  model    %s\n  network  %s\n"),
                 result->network, result->layers,
                 text_count(result->parameters, count, sizeof count), request->model,
                 request->network);
    import_words_end(request->path, result->softmax_left_out, result->kept, result->picture);
    if (result->left_out)
        output_note(ngettext("tinca: %s: %zu more output was left out\n",
                             "tinca: %s: %zu more outputs were left out\n", result->left_out),
                    request->path, result->left_out);
}

static void print_missing(const struct onnx_import_result *result)
{
    for (size_t i = 0; i < result->missing_count; i++)
        output_note("  %s %s: %s\n", result->missing[i].type, result->missing[i].node,
                    result->missing[i].why);
}

static int print_json(const struct onnx_import_request *request,
                      const struct onnx_import_result *result, bool imported)
{
    struct json *root = json_new_object();
    bool added = root;
    if (imported)
        added = json_add_string(root, "network", result->network) &&
                json_add_count(root, "layers", result->layers) &&
                json_add_count(root, "parameters", result->parameters) &&
                json_add_string(root, "model", request->model) &&
                json_add_string(root, "file", request->network);
    struct json *list = json_add_array(root, "missing");
    for (size_t i = 0; i < result->missing_count; i++) {
        struct json *object = json_add_object(list, NULL);
        added = json_add_string(object, "node", result->missing[i].node) &&
                json_add_string(object, "operator", result->missing[i].type) &&
                json_add_string(object, "why", result->missing[i].why) && added;
    }
    return output_json(root, added && list);
}

int import_onnx(const char *path, const struct import_onnx_options *options)
{
    struct error error = {0};
    struct onnx_import_result result = {0};
    char *model = NULL, *network = NULL;
    int status = EXIT_DONE;
    bool imported = choose_names(path, options->output, &model, &network, &error);
    const struct onnx_import_request request = {path, model, network,
                                                options->normalise ? options->normalise : ""};
    imported = imported && onnx_import(&request, &result, &error);
    if (options->as_json && (imported || result.missing_count > 0))
        status = print_json(&request, &result, imported);
    else if (imported)
        print_result(&request, &result);
    if (!imported) {
        status = output_error(&error);
        if (!options->as_json)
            print_missing(&result);
    }
    onnx_import_result_free(&result);
    free(model);
    free(network);
    return status;
}
