/* The report of a quantization as JSON: what tinca quantize --json writes, and what a quantized
 * model has in its file. */
#include "session/compress/quantize_model.h"

#include <math.h>

const char *const quantize_kept_names[] = {
    [KEPT_NOT] = "no", [KEPT_ASKED] = "asked", [KEPT_SENSITIVE] = "sensitive"};

static bool add_layer(struct json *list, const struct quantize_layer *layer)
{
    struct json *object = json_add_object(list, NULL);
    const bool quantized = layer->kept == KEPT_NOT;
    return json_add_string(object, "layer", layer->name) &&
           json_add_string(object, "op", layer->op) &&
           json_add_string(object, "weights", quantized ? "int8" : "float32") &&
           json_add_string(object, "kept", quantize_kept_names[layer->kept]) &&
           json_add_number(object, "weight_sqnr_db", layer->weight_sqnr) &&
           json_add_number(object, "output_sqnr_db", layer->output_sqnr) &&
           json_add_number(object, "top1_loss",
                           layer->kept == KEPT_ASKED ? NAN : layer->top1_loss) &&
           json_add_number(object, "loss_rise", layer->kept == KEPT_ASKED ? NAN : layer->loss_rise);
}

static bool add_accuracy(struct json *root, const char *key, const struct evaluation *evaluation)
{
    struct json *object = json_add_object(root, key);
    return json_add_number(object, "top1", evaluation->top1) &&
           json_add_number(object, "top1_low", evaluation->top1_low) &&
           json_add_number(object, "top1_high", evaluation->top1_high) &&
           json_add_number(object, "loss", evaluation->loss) &&
           json_add_count(object, "images", evaluation->images);
}

struct json *quantize_result_json(const struct quantize_request *request,
                                  const struct quantize_result *result)
{
    struct json *root = json_new_object();
    bool complete =
        json_add_string(root, "network", result->network) &&
        json_add_string(root, "method", calibration_method_names[request->method]) &&
        json_add_string(root, "scales", request->per_tensor ? "per-tensor" : "per-channel") &&
        json_add_count(root, "images", result->images) &&
        json_add_count(root, "layer_images", result->layer_images) &&
        add_accuracy(root, "before", &result->before) &&
        add_accuracy(root, "after", &result->after) &&
        (!result->tuned || add_accuracy(root, "before_tuning", &result->untuned));
    struct json *layers = json_add_array(root, "layers");
    for (size_t i = 0; complete && i < result->layer_count; i++)
        complete = add_layer(layers, &result->layers[i]);
    if (complete && layers)
        return root;
    json_free(root);
    return NULL;
}
