/* A saved model is exported as it is. Of a run, its best model is, or else its last one, with the
 * record of the training. */
#include "cli/export_onnx.h"

#include "cli/export_model.h"
#include "cli/output.h"
#include "cli/runs.h"

#include "base/files/output_file.h"
#include "base/language.h"
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

static bool write_run(struct onnx_export_request *request, const char *operand, const char *path,
                      struct error *error)
{
    struct run *run = runs_open(operand, error);
    char *model = run ? export_model_of_run(run, error) : NULL;
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
    request.format = export_format(options->precision);
    return export_operand_is_model(operand) ? write_model(&request, path, error)
                                            : write_run(&request, operand, path, error);
}
