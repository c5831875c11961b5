/* An ONNX file, which is imported into files of the scratch folder. */
#include "base/files/content.h"
#include "exchange/frame/exchange.h"

#include "fuzz.h"

#include <stdio.h>

void fuzz_onnx(const uint8_t *data, size_t size)
{
    struct error error;
    struct exchange_report report = {0};
    char model[128], path[128];
    snprintf(model, sizeof model, "%s", scratch_path("imported.safetensors"));
    snprintf(path, sizeof path, "%s", scratch_write("model.bin", data, size));
    const char *const paths[] = {path};
    const struct model_import import = {
        .paths = paths, .count = 1, .output = model, .normalise = "", .names = ""};
    content_of(path);
    onnx_import(&import, &report, &error);
    exchange_report_free(&report);
}
