/* A saved model is exported as it is. Of a run, its best model is, or else its last one, with the
 * record of the training. */
#include "cli/internal.h"

#include "cli/export_model.h"
#include "cli/output.h"

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
    const bool written = model && (record || !run) && write_model(&request, path, error);
    free(record);
    free(model);
    run_free(run);
    return written;
}
