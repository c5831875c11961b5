/* tinca export of models: finds the model that an operand names, and writes it for ONNX, PyTorch or
 * Caffe. Of a run the best model is exported, or else its last one. */
#include "cli/internal.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "cli/output.h"
#include "cli/runs.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "exchange/caffe/caffe.h"
#include "exchange/onnx/onnx.h"
#include "exchange/torch/torch.h"
#include "models/saved/model_file.h"
#include "runs/folder/run_directory.h"
#include "runs/history/seed_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the model --- */

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

enum export_operand export_operand_kind(const char *operand, struct error *why)
{
    struct error unused;
    if (seed_group_is_operand(operand) || file_is_directory(operand))
        return OPERAND_RUN;
    if (safetensors_file_is(operand))
        return OPERAND_MODEL;
    const bool is_file = file_exists(operand);
    if (is_file && onnx_file_is(operand))
        return OPERAND_ONNX;
    if (!is_file && !network_is_model(operand))
        return OPERAND_RUN;
    char *run = run_directory_find(operand, &unused);
    free(run);
    if (run)
        return OPERAND_RUN;
    explain_file(operand, why);
    return OPERAND_WRONG;
}

enum weights_format export_format(const char *name)
{
    enum weights_format format = WEIGHTS_FLOAT32;
    for (size_t i = 0; name && weights_format_names[i]; i++)
        if (strcmp(name, weights_format_names[i]) == 0)
            format = (enum weights_format)i;
    return format;
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

char *export_model_find(const char *operand, struct run **run, struct error *error)
{
    *run = NULL;
    const enum export_operand kind = export_operand_kind(operand, error);
    if (kind == OPERAND_MODEL)
        return memory_copy_text(operand, error);
    if (kind == OPERAND_ONNX)
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

/* --- ONNX --- */

const char *const export_onnx_integers[] = {"uint8", "int8", NULL};

static bool write_onnx(struct onnx_export_request *request, const char *path, struct error *error)
{
    struct onnx_export_result result;
    if (!onnx_export(request, path, &result, error))
        return false;
    if (!output_file_is_stdout(path))
        output_print(_("%s: %zu nodes, operator set %lld\n"), path, result.nodes, result.opset);
    if (result.noise_left_out)
        output_note(_("tinca: %s: the noise that the network adds in inference (dropout) is left "
                      "out\n"),
                    path);
    return true;
}

bool export_onnx(const char *operand, const struct export_onnx_options *options, const char *path,
                 struct error *error)
{
    struct onnx_export_request request = {.fold = options->fold,
                                          .format_given = options->precision,
                                          .signed_weights = options->integers &&
                                                            strcmp(options->integers, "int8") == 0};
    struct run *run;
    char *model = export_model_find(operand, &run, error);
    char *record = run ? onnx_record(run, error) : NULL;
    request.format = export_format(options->precision);
    request.model = model;
    request.record = record;
    const bool written = model && (record || !run) && write_onnx(&request, path, error);
    free(record);
    free(model);
    run_free(run);
    return written;
}

/* --- PyTorch --- */

static void print_torch_result(const char *path, const struct torch_export_result *result)
{
    if (strcmp(result->names, WEIGHTS_NAMES_OWN) == 0)
        output_print(ngettext("%s: %zu array, with the names of the network\n",
                              "%s: %zu arrays, with the names of the network\n", result->arrays),
                     path, result->arrays);
    else
        output_print(ngettext("%s: %zu array, with the names of the mapping %s\n",
                              "%s: %zu arrays, with the names of the mapping %s\n", result->arrays),
                     path, result->arrays, result->names);
    if (result->counters)
        output_print(ngettext("  and %zu counter num_batches_tracked, which is 0\n",
                              "  and %zu counters num_batches_tracked, which are 0\n",
                              result->counters),
                     result->counters);
    if (result->zeros)
        output_print(ngettext("  and %zu bias that PyTorch's network has and this one needs not: "
                              "zeros\n",
                              "  and %zu biases that PyTorch's network has and this one needs not: "
                              "zeros\n",
                              result->zeros),
                     result->zeros);
    if (result->identities)
        output_print(ngettext("  without %zu array that changes nothing\n",
                              "  without %zu arrays that change nothing\n", result->identities),
                     result->identities);
}

bool export_torch(const char *operand, const char *names, const char *precision, const char *path,
                  struct error *error)
{
    struct torch_export_result result;
    struct run *run;
    char *model = export_model_find(operand, &run, error);
    run_free(run);
    const struct torch_export_request request = {.model = model,
                                                 .names = names ? names : "",
                                                 .format_given = precision,
                                                 .format = export_format(precision)};
    const bool written = model && torch_export(&request, path, &result, error);
    if (written)
        print_torch_result(path, &result);
    free(model);
    return written;
}

/* --- Caffe --- */

/* Returns the name of the binary file beside `path`, which the caller frees; NULL with an error. */
static char *name_binary(const char *path, struct error *error)
{
    const size_t length = strlen(path);
    if (length < 10 || strcmp(path + length - 9, ".prototxt") != 0) {
        error_set(error, ERROR_USAGE, path, "give -o FILE.prototxt",
                  "the weights lie beside it, in FILE.caffemodel");
        return NULL;
    }
    char *binary = memory_new(length + 8, 1, "a path", error);
    if (binary)
        sprintf(binary, "%.*s.caffemodel", (int)(length - 9), path);
    return binary;
}

static bool write_network(const struct network *network, const struct weights *weights,
                          const char *path, struct error *error)
{
    char *binary = weights ? name_binary(path, error) : NULL;
    if (weights && !binary)
        return false;
    const bool written = caffe_export(network, weights, path, binary, error);
    if (written && !output_file_is_stdout(path)) {
        output_print("%s\n", path);
        if (binary)
            output_print("%s\n", binary);
        if (network->input.channels == 3)
            output_note(_("tinca: %s: the network expects the channels red, green, blue; Caffe's "
                          "own tools read blue, green, red\n"),
                        path);
    }
    free(binary);
    return written;
}

static bool write_caffe(const char *model_path, const char *path, bool weights, struct error *error)
{
    struct model model = {0};
    const bool written =
        model_file_describe(&model, model_path, error) &&
        (!weights ||
         (model_check_memory(model.network, &(struct model_use){0}, model_path, error) &&
          weights_create(&model.weights, &model.network->graph, error) &&
          weights_load(&model.weights, model_path, error))) &&
        write_network(model.network, weights ? &model.weights : NULL, path, error);
    model_free(&model);
    return written;
}

static bool write_named(const char *name, const char *path, struct error *error)
{
    const struct network_request request = {.network = name};
    struct network *network = network_build(&request, error);
    const bool written = network && write_network(network, NULL, path, error);
    network_free(network);
    return written;
}

/* Returns whether a text is the name of a network, with or without suffixes. */
static bool is_network(const char *name)
{
    struct error unused;
    const struct network_request request = {.network = name};
    struct network *network = network_build(&request, &unused);
    network_free(network);
    return network != NULL;
}

bool export_caffe(const char *operand, const char *path, bool weights, struct error *error)
{
    const char *dot = strrchr(operand, '.');
    const bool file = dot && strcmp(dot, ".json") == 0;
    struct run *run;
    if (!weights && (file || (!network_is_path(operand) && is_network(operand))))
        return write_named(operand, path, error);
    char *model = export_model_find(operand, &run, error);
    const bool written = model && write_caffe(model, path, weights, error);
    run_free(run);
    free(model);
    return written;
}
