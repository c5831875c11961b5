#include "session/models/model_layers.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "engine/weights/safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a number of the report; one that was not measured is null, thus NaN. */
static double number_of(const struct json *object, const char *key)
{
    double value;
    return json_number(json_member(object, key), &value) ? value : (double)NAN;
}

static bool read_layer(const struct json *object, struct model_layer *layer)
{
    const char *name = json_string(json_member(object, "layer"));
    const char *weights = json_string(json_member(object, "weights"));
    if (!name || !weights)
        return false;
    snprintf(layer->name, sizeof layer->name, "%s", name);
    layer->int8 = strcmp(weights, "int8") == 0;
    layer->weight_sqnr = number_of(object, "weight_sqnr_db");
    layer->output_sqnr = number_of(object, "output_sqnr_db");
    layer->top1_loss = number_of(object, "top1_loss");
    layer->loss_rise = number_of(object, "loss_rise");
    return true;
}

static bool read_report(const struct json *root, const char *path, struct model_layers *layers,
                        struct error *error)
{
    const struct json *list = json_member(root, "layers"), *object = json_first(list);
    const size_t count = json_is_array(list) ? json_length(list) : 0;
    bool read = count > 0;
    json_count(json_member(root, "layer_images"), &layers->images);
    layers->list = read ? memory_new(count, sizeof *layers->list, path, error) : NULL;
    if (read && !layers->list)
        return false;
    for (size_t i = 0; read && i < count; i++, object = json_next(object))
        read = read_layer(object, &layers->list[i]);
    layers->count = read ? count : 0;
    return read || error_set(error, ERROR_INPUT, path, "quantize the model again",
                             "its report tinca.quantization is damaged");
}

bool model_layers_read(const char *path, struct model_layers *layers, struct error *error)
{
    struct safetensors file;
    struct json_document document = {0};
    *layers = (struct model_layers){0};
    if (!safetensors_open(&file, path, error))
        return false;
    const char *text = safetensors_metadata(&file, "tinca.quantization");
    const bool read = !text || (json_parse(&document, text, strlen(text), path, error) &&
                                read_report(document.root, path, layers, error));
    json_document_free(&document);
    safetensors_close(&file);
    if (!read) {
        free(layers->list);
        *layers = (struct model_layers){0};
    }
    return read;
}
