/* A build without protobuf-c refuses ONNX files. */
#include "exchange/onnx/onnx.h"

static bool refuse(const char *path, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, path,
                     "install protobuf-c (Debian: apt-get install libprotobuf-c-dev "
                     "protobuf-c-compiler), then configure and build again",
                     "this tinca was built without ONNX");
}

bool onnx_export(const struct onnx_export_request *request, const char *path,
                 struct onnx_export_result *result, struct error *error)
{
    *result = (struct onnx_export_result){0};
    (void)path;
    return refuse(request->model, error);
}

bool onnx_import(const struct onnx_import_request *request, struct onnx_import_result *result,
                 struct error *error)
{
    *result = (struct onnx_import_result){0};
    return refuse(request->path, error);
}

void onnx_import_result_free(struct onnx_import_result *result)
{
    *result = (struct onnx_import_result){0};
}
