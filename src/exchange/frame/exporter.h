/* exporter.h: what the exporters of models share: the saved model with its weights. */
#ifndef TINCA_EXCHANGE_FRAME_EXPORTER_H
#define TINCA_EXCHANGE_FRAME_EXPORTER_H

#include "engine/weights/safetensors.h"
#include "exchange/frame/exchange.h"
#include "models/saved/evaluate.h"
#include "models/saved/model_file.h"

/* The model that is exported; exporter_close frees it. */
struct exporter_model {
    struct model model;
    struct safetensors file;
    enum weights_format format; /* in which the weights are written */
};

/* Opens a saved model and reads its weights, if they fit into memory; `use` says what else will be
 * there. Returns false with an error; close it in either case. */
bool exporter_open(struct exporter_model *exported, const struct model_export *export,
                   const struct model_use *use, struct error *error);
void exporter_close(struct exporter_model *exported);

#endif
