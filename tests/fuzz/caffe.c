/* Caffe's files: a network or a solver as text, and a network with its weights as protobuf, which
 * are imported into files of the scratch folder. */
#include "exchange/caffe/caffe.h"
#include "exchange/frame/exchange.h"

#include "fuzz.h"

#include <stdio.h>

/* Imports a file, into a saved model or a network file. */
static void import(const char *path, const char *output)
{
    struct error error;
    struct exchange_report report = {0};
    char file[128];
    snprintf(file, sizeof file, "%s", scratch_path(output));
    const struct model_import request = {
        .paths = &path, .count = 1, .output = file, .normalise = "", .names = ""};
    caffe_import(&request, &report, &error);
    exchange_report_free(&report);
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
    import(path, "imported.json");
}

void fuzz_caffemodel(const uint8_t *data, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s", scratch_write("net.caffemodel", data, size));
    import(path, "imported.safetensors");
}
