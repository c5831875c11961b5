/* A build without protobuf-c refuses ONNX files. */
#include "exchange/frame/exchange.h"

static bool refuse(const char *path, struct error *error)
{
    return error_set(error, ERROR_UNSUPPORTED, path,
                     "install protobuf-c (Debian: apt-get install libprotobuf-c-dev "
                     "protobuf-c-compiler), then configure and build again",
                     "this tinca was built without ONNX");
}

bool onnx_export(const struct model_export *export, const char *path,
                 struct exchange_report *report, struct error *error)
{
    (void)path, (void)report;
    return refuse(export->model, error);
}

bool onnx_import(const struct model_import *import, struct exchange_report *report,
                 struct error *error)
{
    (void)report;
    return refuse(import->paths[0], error);
}
