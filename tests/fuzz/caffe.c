/* Caffe's files: a network or a solver as text, and a network with its weights as protobuf, which
 * are imported into files of the scratch folder. */
#include "exchange/caffe/caffe.h"

#include "fuzz.h"

#include <stdio.h>

/* Imports one of the two files; the other one is NULL. */
static void import(const char *text, const char *binary)
{
    struct error error;
    struct caffe_import_result result;
    char model[128], file[128];
    snprintf(model, sizeof model, "%s", scratch_path("imported.safetensors"));
    snprintf(file, sizeof file, "%s", scratch_path("imported.json"));
    const struct caffe_import_request request = {.network = text,
                                                 .weights = binary,
                                                 .model = binary ? model : NULL,
                                                 .file = file,
                                                 .normalise = ""};
    caffe_import(&request, &result, &error);
    caffe_import_result_free(&result);
}

void fuzz_prototxt(const uint8_t *data, size_t size)
{
    struct error error;
    struct caffe_solver solver;
    struct run_config config;
    char path[128];
    snprintf(path, sizeof path, "%s", scratch_write("net.prototxt", data, size));
    caffe_is_solver(path);
    config_defaults(&config);
    if (caffe_solver_read(path, &solver, &error))
        caffe_solver_apply(&solver, &config, &error);
    import(path, NULL);
}

void fuzz_caffemodel(const uint8_t *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s", scratch_write("net.caffemodel", data, size));
    import(NULL, path);
}
