/* evaluate.h: evaluates a saved model on a data set or on images: eval, predict, validation. */
#ifndef TINCA_MODELS_SAVED_EVALUATE_H
#define TINCA_MODELS_SAVED_EVALUATE_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "models/saved/ranking.h"

#include <stddef.h>
#include <stdint.h>

struct run_config;

enum { MODEL_CHECKSUM = 12 }; /* the size of a checksum's text */

/* A network with weights and the description of its input, from a model file. */
struct model {
    struct network *network;
    struct weights weights;
    struct preprocessing preprocessing;
    char (*class_names)[64]; /* network->classes of them; from the training set */
    bool other_numbers; /* the classes were numbers, and a set has named them in another order */
    struct device *device;
    /* tinca.crc32 of the model's file, and of the file that it was made from; "": not known */
    char checksum[MODEL_CHECKSUM], parent[MODEL_CHECKSUM];
    struct plan *plan; /* for one image; model_predict makes it when first called */
    struct execution *execution;
    struct translator *translator; /* for pictures of another size (translate.h); NULL: none yet */
    double tolerance; /* largest error of a correct pixel, in 255ths; from the configuration */
    char *chosen;     /* after an evaluation: the record of its kernels (computed_with.h) */
};

/* Loads a model file and opens the device. A quantized model is computed in int8, where the device
 * can; otherwise its values are rounded in float32 (engine/quantize/simulate.h). Returns false with
 * an error. */
bool model_load(struct model *model, const char *path, const char *device, size_t threads,
                struct error *error);

/* The memory that a command will use besides a model's weights and its plan for one image. */
struct model_use {
    size_t copies;  /* of the weights */
    size_t models;  /* others of the same size, each with its plan */
    uint64_t bytes; /* anything else, such as a data set */
    /* Returns the bytes that depend on the network, given `context`; may be NULL. */
    uint64_t (*more)(const struct network *network, const void *context);
    const void *context;
};

/* Does the same for a command that will use more memory than the model does. If that does not fit,
 * fails before anything large is allocated, with an error that gives the needed and the available
 * bytes. */
bool model_load_for(struct model *model, const char *path, const char *device, size_t threads,
                    const struct model_use *use, struct error *error);

/* Returns whether the weights of `network` and the memory of `use` fit into the memory that is
 * left; otherwise sets an error about the file `path`. */
bool model_check_memory(const struct network *network, const struct model_use *use,
                        const char *path, struct error *error);
void model_free(struct model *model);

/* Sets the precision of the configuration on the device, if the user gave one. Returns false with
 * an error if the device does not compute in it. */
bool model_set_precision(struct model *model, const struct run_config *config, struct error *error);

/* Sets the precision of the device, and how a quantized model is then rounded, before the first
 * image is computed. Returns false with an error. */
bool model_compute_in(struct model *model, enum device_precision precision, struct error *error);

struct evaluation {
    size_t images;
    double loss, top1, top5;    /* mean loss; percent (NaN: the network has no classes) */
    double top1_low, top1_high; /* 95 % confidence interval of top1 (Wilson), percent */
    double loss_error;     /* standard error of the mean loss over the images; NaN: one image */
    double pixel_accuracy; /* percent (NaN: the network has classes) */
    double ms_mean, ms_sd, ms_ci95, ms_median, ms_min; /* ms/image of the batches after a warm-up */
    size_t batch;
    uint64_t memory_bytes; /* the plan's memory: weights, activations, ... */
};

/* The result for one image of a set. */
struct outcome {
    uint32_t image, label, guess; /* by number; guess: the most probable class, or OUTCOME_NONE */
    /* 0..1: the probability of the guess; for networks that make pictures the share of correct
     * pixels */
    float share;
};
#define OUTCOME_NONE RANKING_NONE /* a logit was NaN */
/* Is called with the result and, for networks with classes, the logits [classes] (NULL for others),
 * which are valid during the call. */
typedef void outcome_watch(void *watcher, const struct outcome *outcome, const float *logits);

/* Is called after each batch with the images that are done, and all images. Returning false, with a
 * reason in `error`, ends the evaluation. */
typedef bool evaluation_progress(void *context, uint64_t done, uint64_t of, struct error *error);

/* The options of an evaluation; {0}: all images, without times. */
struct evaluation_request {
    size_t batch;   /* 0: the largest that fits into memory */
    size_t images;  /* only this number of first images; 0: all */
    bool timed;     /* measure times, after a warm-up */
    size_t readers; /* decode workers; 0: chosen by the number of cores */
    /* NULL, or receives the ms/image of each batch: an array that the caller frees */
    double **times;
    size_t *time_count;
    evaluation_progress *progress; /* may be NULL */
    outcome_watch *watch;          /* called for every image, in order; may be NULL */
    void *context;                 /* passed to both */
};

/* Evaluates the model on a set that model_open_set has opened. Returns false with an error. */
bool model_evaluate_set(struct model *model, const struct dataset *dataset,
                        const struct evaluation_request *request, struct evaluation *evaluation,
                        struct error *error);

/* Opens the set `data_spec` and evaluates the model on it; batch 0: chosen by what fits into
 * memory. The result does not depend on the batch size except for the order of float32 sums. */
bool model_evaluate(struct model *model, const char *data_spec, size_t batch,
                    struct evaluation *evaluation, struct error *error);

/* Opens the set `data_spec` as it is evaluated: its test split unless it names one, with the shape
 * of the network's input, its preprocessing and the classes of the model (class_match_model).
 * Returns NULL with an error. */
struct dataset *model_open_set(struct model *model, const char *data_spec, struct error *error);

/* Measures the time of single images, the inference time of the dissertation, over the first
 * request->images of the set (0: all); batch and timed of the request are set. */
bool model_measure(struct model *model, const char *data_spec,
                   const struct evaluation_request *request, struct evaluation *evaluation,
                   struct error *error);

struct prediction {
    size_t label;
    float probability;
};

/* Writes the `top` (at most network->classes) most probable classes of an image file, the most
 * probable first. Returns false with an error, such as that the network's output is NaN. */
bool model_predict(struct model *model, const char *image_path, size_t top,
                   struct prediction *predictions, struct error *error);

/* Reads an image file as model_predict does, normalised, into values [C, H, W] for model_infer. */
bool model_read_image(const struct model *model, const char *path, float *values,
                      struct error *error);

/* Writes the `top` most probable classes of the logits [classes] of one image. Returns false, and
 * writes nothing, if the logits have no order (ranking.h). */
bool model_choose_top(const float *logits, size_t classes, size_t top,
                      struct prediction *predictions);

/* Returns the output for one normalised input [C, H, W], which is valid until the next call; NULL
 * with an error. `number`, the number of the image, seeds the noise of networks that use noise in
 * inference. */
const float *model_infer(struct model *model, const float *input, uint64_t number,
                         struct error *error);

#endif
