/* An ONNX file, which is imported into files of the scratch folder. */
#include "exchange/onnx/onnx.h"

#include "fuzz.h"

#include <stdio.h>

void fuzz_onnx(const uint8_t *data, size_t size)
{
    struct error error;
    struct onnx_import_result result;
    char model[128], network[128];
    snprintf(model, sizeof model, "%s", scratch_path("imported.safetensors"));
    snprintf(network, sizeof network, "%s", scratch_path("imported.json"));
    const struct onnx_import_request request = {scratch_write("model.bin", data, size), model,
                                                network, ""};
    onnx_file_is(request.path);
    onnx_import(&request, &result, &error);
    onnx_import_result_free(&result);
}
