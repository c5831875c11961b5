/* A saved model is exported as it is. Of a run, its best model is, or else its last one, with the
 * record of the training. */
#include "cli/export_onnx.h"

#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "engine/network/network.h"
#include "engine/weights/safetensors.h"
#include "session/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

const char *const export_onnx_integers[] = {"uint8", "int8", NULL};

static bool write_model(struct onnx_export_request *request, const char *path, struct error *error)
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

char *export_onnx_find_model(const struct run *run, struct error *error)
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

static bool write_run(struct onnx_export_request *request, const char *operand, const char *path,
                      struct error *error)
{
    struct run *run = runs_open(operand, error);
    char *model = run ? export_onnx_find_model(run, error) : NULL;
    char *record = model ? onnx_record(run, error) : NULL;
    request->model = model;
    request->record = record;
    const bool written = record && write_model(request, path, error);
    free(record);
    free(model);
    run_free(run);
    return written;
}

bool export_onnx(const char *operand, const struct export_onnx_options *options, const char *path,
                 struct error *error)
{
    struct onnx_export_request request = {.model = operand,
                                          .fold = options->fold,
                                          .format_given = options->precision,
                                          .signed_weights = options->integers &&
                                                            strcmp(options->integers, "int8") == 0};
    for (size_t i = 0; options->precision && weights_format_names[i]; i++)
        if (strcmp(options->precision, weights_format_names[i]) == 0)
            request.format = (enum weights_format)i;
    return safetensors_file_is(operand) || network_is_model(operand)
               ? write_model(&request, path, error)
               : write_run(&request, operand, path, error);
}
