/* model_layers.h: what tinca quantize found out about each layer of a model, from the model's file
 * (session/model/model_file.h: tinca.quantization).
 */
#ifndef TINCA_SESSION_MODELS_MODEL_LAYERS_H
#define TINCA_SESSION_MODELS_MODEL_LAYERS_H

#include "base/error.h"
#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>

struct model_layer {
    char name[NODE_NAME_SIZE];
    bool int8;                       /* else its weights are float32 */
    double weight_sqnr, output_sqnr; /* signal to quantization noise, dB; NaN: none */
    double top1_loss, loss_rise;     /* of this layer alone: points, and loss; NaN: not measured */
};

struct model_layers {
    struct model_layer *list; /* in the order of the network; free() */
    size_t count;             /* 0: the model is not quantized */
    size_t images;            /* with which the losses were measured */
};

/* Reads the layers of a model file; a model without a report has none. Returns false with an error
 * if the file cannot be read, its report is damaged, or memory runs out. */
bool model_layers_read(const char *path, struct model_layers *layers, struct error *error);

#endif
