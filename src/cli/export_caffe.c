/* A .prototxt file can be made of any network; a .caffemodel file needs the weights of a saved
 * model, or of a run's best one. */
#include "cli/internal.h"

#include "cli/export_model.h"
#include "cli/output.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "base/memory.h"
#include "engine/weights/safetensors.h"
#include "session/caffe/caffe.h"
#include "session/model/model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool write_model(const char *model_path, const char *path, bool weights, struct error *error)
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
    const bool written = model && write_model(model, path, weights, error);
    run_free(run);
    free(model);
    return written;
}
