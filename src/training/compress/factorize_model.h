/* factorize_model.h: makes a saved model smaller by factorizing its layers, and saves the result as
 * another model.
 */
#ifndef TINCA_TRAINING_COMPRESS_FACTORIZE_MODEL_H
#define TINCA_TRAINING_COMPRESS_FACTORIZE_MODEL_H

#include "engine/compress/factorize.h"
#include "models/saved/model_file.h"
#include "training/compress/fine_tune.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FACTORIZE_USUAL_ENERGY 0.9 /* without another target */
#define FACTORIZE_UNTRAINED                                                                        \
    ".untrained.safetensors" /* ending of the model that a fine-tuning trains */

/* The target by which the ranks are chosen. */
enum factorize_target {
    FACTORIZE_ENERGY,     /* the share of each layer's squared singular values that is kept */
    FACTORIZE_PARAMETERS, /* the share of the network's parameters that may be left */
    FACTORIZE_LATENCY,    /* the milliseconds of one image, measured here */
    FACTORIZE_TARGETS
};
/* "energy", "parameters", "latency", then NULL. */
extern const char *const factorize_target_names[FACTORIZE_TARGETS + 1];

struct factorize_request {
    const char *model, *output; /* paths */
    struct factorize_settings settings;
    enum factorize_target target;
    double value;
    bool format_given; /* of the new file's weights; else that of the model's file */
    enum weights_format format;
    bool replaces; /* replaces an interrupted factorization for the output */
    /* The device and, with data, the settings of fine-tuning, which is skipped unless epochs or
     * iterations are given. */
    struct run_config config;
};

/* The result of a factorization. */
struct factorized_model {
    struct model origin;
    struct factorization factorization;
    struct network *network;
    struct weights weights;
    enum weights_format format;
    double ms_before, ms_after;         /* of one image; NaN unless the target is the latency */
    uint64_t flops_before, flops_after; /* of one image */
    uint64_t bytes_before, bytes_after; /* of the files */
    size_t parameters_before, parameters_after;
    char run[FINE_TUNE_RUN]; /* the folder of the fine-tuning; "": none */
    bool continued; /* the network comes from an interrupted call: nothing is known of the layers */
};

/* Factorizes the model and saves the result; factorized_model_free releases it. Returns false with
 * an error: a value out of range, a model that cannot be read or has been quantized, nothing that
 * becomes smaller, a target that is out of reach, or an output that cannot be written. The output
 * is then as it was. An interrupted fine-tuning is continued by the same request; until then
 * OUTPUT.untrained.safetensors has the model that it trains. */
bool factorize_model(const struct factorize_request *request, const struct technique_watch *watch,
                     struct factorized_model *made, struct error *error);
void factorized_model_free(struct factorized_model *made);

#endif
