#include "session/models/half_model.h"

#include "engine/network/network_compression.h"
#include "engine/network/network_write.h"
#include "session/model/model_file.h"

#include <stdio.h>

/* Returns the network under its new name; NULL with an error. */
static struct network *rename_network(const struct network *network, enum weights_format format,
                                      struct error *error)
{
    char step[32];
    struct json *root = network_to_json(network);
    struct network *renamed = NULL;
    snprintf(step, sizeof step, "half:%s", weights_format_names[format]);
    if (!root)
        error_set_memory(error, "a network", 0);
    else if (compression_append(root, step, error))
        renamed = network_from_json(root, error);
    json_free(root);
    return renamed;
}

bool half_model_save(const char *path, enum weights_format format, const char *output,
                     struct error *error)
{
    struct model model = {0};
    if (format == WEIGHTS_FLOAT32)
        return error_set(error, ERROR_USAGE, "--save-precision", "give bf16 or float16",
                         "half precision has 16 bits");
    bool saved = model_file_describe(&model, path, error) &&
                 model_check_memory(model.network, &(struct model_use){0}, path, error) &&
                 weights_create(&model.weights, &model.network->graph, error) &&
                 weights_load(&model.weights, path, error);
    struct network *renamed = saved ? rename_network(model.network, format, error) : NULL;
    saved = renamed && model_save_derived(&model, renamed, &model.weights, format, output, error);
    network_free(renamed);
    model_free(&model);
    return saved;
}
