/* evaluate.h: a saved model on a data set or on images: eval, predict, validation. */
#ifndef TINCA_SESSION_MODEL_EVALUATE_H
#define TINCA_SESSION_MODEL_EVALUATE_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"

#include <stddef.h>
#include <stdint.h>

/* A network with weights and what its input expects, from a file that tinca saved. */
struct model {
    struct network *network;
    struct weights weights;
    struct normalisation normalisation;
    char (*class_names)[64]; /* network->classes of them; from the training set */
    struct device *device;
    size_t stored_height, stored_width; /* training images, before they were cropped */
    struct plan *plan;                  /* of one image: model_predict's, made when first used */
    struct execution *execution;
    struct translator *translator; /* of pictures of another size: translate.h; NULL: none yet */
    double tolerance; /* of a pixel that counts as right, of 255; the configuration's default */
};

bool model_load(struct model *model, const char *path, const char *device, size_t threads,
                struct error *error);
void model_free(struct model *model);

struct evaluation {
    size_t images;
    double loss, top1, top5;                           /* mean loss; percent (NaN: no classes) */
    double pixel_accuracy;                             /* percent (NaN: classes) */
    double ms_mean, ms_sd, ms_ci95, ms_median, ms_min; /* of an image, by batch, after a warm-up */
    size_t batch;
    uint64_t memory_bytes; /* that the passes were planned to take: weights, activations, ... */
};

/* What came of one image of a set. */
struct outcome {
    uint32_t image, label, guess; /* by number; guess: the most probable class, or OUTCOME_NONE */
    float share; /* 0..1: the guess's probability; of networks that make pictures, pixels right */
};
#define OUTCOME_NONE UINT32_MAX /* the network's output was no number */
typedef void outcome_watch(void *watcher, const struct outcome *outcome);

/* Told after each batch how many images are done, and of how many; false, with a reason in `error`,
 * ends the evaluation. */
typedef bool evaluation_progress(void *context, uint64_t done, uint64_t of, struct error *error);

/* How to go through a set. {0}: all of it, for its accuracy. */
struct evaluation_request {
    size_t batch;                  /* images at a time; 0: decided here */
    size_t images;                 /* only the first so many; 0: all */
    bool timed;                    /* the times are asked for: a warm-up comes first */
    size_t readers;                /* threads that read images; 0: decided here */
    evaluation_progress *progress; /* NULL: nobody is told */
    outcome_watch *watch;          /* NULL likewise */
    void *context;                 /* of both */
};

/* The opened set must be of the model's input. */
bool model_evaluate_set(struct model *model, const struct dataset *dataset,
                        const struct evaluation_request *request, struct evaluation *evaluation,
                        struct error *error);

/* batch 0: decided here. The numbers do not depend on it but for the order of float32 sums. */
bool model_evaluate(struct model *model, const char *data_spec, size_t batch,
                    struct evaluation *evaluation, struct error *error);

/* The same, one image at a time, over the first `images` of the set (0: all): the dissertation's
 * inference time. `progress` may be NULL. */
bool model_measure(struct model *model, const char *data_spec, size_t images,
                   evaluation_progress *progress, void *context, struct evaluation *evaluation,
                   struct error *error);

struct prediction {
    size_t label;
    float probability;
};

/* The `top` (at most network->classes) most probable classes of one image file, most probable
 * first. */
bool model_predict(struct model *model, const char *image_path, size_t top,
                   struct prediction *predictions, struct error *error);

/* One image file as model_predict reads it, for model_infer: [C, H, W] of the network's input. */
bool model_read_image(const struct model *model, const char *path, float *values,
                      struct error *error);

/* The `top` classes of the logits of one image, as model_predict tells them. */
void model_choose_top(const float *logits, size_t classes, size_t top,
                      struct prediction *predictions);

/* The output for one normalised input [C, H, W], borrowed until the next call; NULL with an error.
 * `number` chooses the noise of networks that have noise when they infer: the image's number. */
const float *model_infer(struct model *model, const float *input, uint64_t number,
                         struct error *error);

#endif
