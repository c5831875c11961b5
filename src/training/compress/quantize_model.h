/* quantize_model.h: makes a saved model of 8-bit integers out of a trained one, and measures the
 * cost, layer by layer.
 *
 * Batch norms are folded, a sample of images gives the ranges of the outputs, and every convolution
 * and linear layer is quantized, except those that the caller keeps and, where the sample shows
 * that it costs accuracy, the first and the last one. The quantized network is computed in float32
 * with simulated rounding (engine/quantize/simulate.h); devices that compute in integers compute
 * the same network.
 */
#ifndef TINCA_TRAINING_COMPRESS_QUANTIZE_MODEL_H
#define TINCA_TRAINING_COMPRESS_QUANTIZE_MODEL_H

#include "base/json/json.h"
#include "engine/quantize/calibration.h"
#include "models/saved/evaluate.h"
#include "training/compress/fine_tune.h"

enum { QUANTIZE_IMAGES = 500 }; /* images of the sample by default */

/* Losses are in points: percent of all images. */
#define QUANTIZE_MAX_LOSS 1.0

struct quantize_request {
    const char *model, *output; /* paths */
    const char *calibrate;      /* SPEC of the sample's set */
    const char *data; /* SPEC of the set on which the accuracy is measured; "": the sample's set,
                         whose test split is used unless it names one */
    const char *keep; /* patterns of layers that stay float32 (name_pattern.h); "" */
    size_t images;    /* images of the sample */
    enum calibration_method method;
    bool per_tensor; /* one scale for the weights of a layer, not one for each output */
    double max_loss; /* points */
    uint64_t seed;
    /* Device, threads and, with epochs, the settings of fine-tuning with simulated quantization,
     * which begins if more than max_loss is lost. */
    struct run_config config;
};

/* The reasons why a layer stays float32. */
enum quantize_kept { KEPT_NOT, KEPT_ASKED, KEPT_SENSITIVE };

struct quantize_layer {
    char name[NODE_NAME_SIZE];
    const char *op;
    enum quantize_kept kept;
    double weight_sqnr; /* dB: signal to quantization noise of the weights; infinite: no noise */
    double output_sqnr; /* the same of the layer's output, in the quantized network */
    double top1_loss;   /* points that quantizing this layer alone costs on the sample */
    double loss_rise;   /* how much its cross-entropy rises */
};

struct quantize_result {
    char network[NETWORK_SHORT_NAME + 64]; /* full name with its chain */
    size_t images, layer_images;           /* of the sample; of its part for single layers */
    struct quantize_layer *layers;
    size_t layer_count;
    struct evaluation before, after; /* on the evaluation's set */
    bool tuned;                      /* fine-tuning was kept: `after` has its result */
    struct evaluation untuned;       /* and this the result before it */
    uint64_t bytes_before, bytes_after;
};

/* Quantizes the model and saves the result. Returns false with an error; the output is then as it
 * was. Call quantize_result_free in any case. */
bool quantize_model(const struct quantize_request *request, const struct technique_watch *watch,
                    struct quantize_result *result, struct error *error);
void quantize_result_free(struct quantize_result *result); /* may be {0} */

/* Returns the report as a JSON object, which the caller frees; NULL if memory runs out. */
struct json *quantize_result_json(const struct quantize_request *request,
                                  const struct quantize_result *result);

#endif
