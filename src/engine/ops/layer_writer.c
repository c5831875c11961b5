#include "engine/ops/layer_writer.h"

static bool write_pair(struct json *layer, const char *key, size_t height, size_t width)
{
    if (height == width)
        return json_add_count(layer, key, height);
    struct json *pair = json_add_array(layer, key);
    return json_add_count(pair, NULL, height) && json_add_count(pair, NULL, width);
}

bool layer_write_window(struct json *layer, const struct window *window)
{
    return write_pair(layer, "kernel", window->kernel_height, window->kernel_width) &&
           write_pair(layer, "stride", window->stride_height, window->stride_width) &&
           write_pair(layer, "pad", window->pad_height, window->pad_width);
}

bool layer_write_dilation(struct json *layer, size_t height, size_t width)
{
    return (height <= 1 && width <= 1) || write_pair(layer, "dilation", height, width);
}

static bool write_initialiser(struct json *layer, const char *key, const struct initialiser *init)
{
    switch (init->kind) {
    case INITIALISE_XAVIER:
        return json_add_string(layer, key, "xavier");
    case INITIALISE_HE:
        return json_add_string(layer, key, "he");
    case INITIALISE_GAUSSIAN:
        return json_add_float(json_add_object(layer, key), "gaussian", init->value);
    case INITIALISE_CONSTANT:
        break;
    }
    return json_add_float(json_add_object(layer, key), "constant", init->value);
}

bool layer_write_weights(struct json *layer, bool bias, const struct initialiser *weight_init,
                         const struct initialiser *bias_init)
{
    return json_add_bool(layer, "bias", bias) && write_initialiser(layer, "init", weight_init) &&
           (!bias || write_initialiser(layer, "bias_init", bias_init));
}

bool layer_write_int8_weights(struct json *layer, bool int8_weights)
{
    return !int8_weights || json_add_string(layer, "weights", "int8");
}
