/* evaluator.h: computes a network's loss and accuracy on a data set, for validation and for eval.
 * Internal to session/.
 *
 * It has an inference plan and borrows weights, device and data set. Losses are summed
 * in double, in the order of the images: the same for any number of threads. */
#ifndef TINCA_SESSION_MODEL_EVALUATOR_H
#define TINCA_SESSION_MODEL_EVALUATOR_H

#include "data/loader/data_loader.h"
#include "session/model/evaluate.h"

#include <stdint.h>

/* The largest batch (1 for networks that make images), and the least number of images of a warm-up.
 */
enum { EVALUATOR_BATCH = 100, EVALUATOR_WARM_UP = 10 };

struct evaluator {
    const struct network *network;
    struct device *device;
    const struct dataset *dataset;
    struct normalisation normalisation;
    struct plan *plan;
    struct execution *execution;
    struct data_loader *loader;
    double *times;        /* ms/image by batch, of the last pass */
    float *losses;        /* by image, in order, of the last pass; NULL: not asked for */
    unsigned char *right; /* a bit for each image that was classified correctly in the last pass
                             (correct_images.h); NULL: there are no classes */
    size_t batches, warm_up;
    outcome_watch *watch;
    void *watcher;
    double tolerance[3]; /* by channel, in normalised values */
};

struct evaluator_settings {
    const struct network *network;
    struct weights *weights;
    struct device *device;
    const struct dataset *dataset;
    const struct normalisation *normalisation;
    size_t batch;         /* 0: as large as fits, at most EVALUATOR_BATCH */
    uint64_t memory_free; /* bytes; 0: not known */
    double tolerance;     /* a pixel is right when every channel is within this, of 255 */
    size_t images;        /* only the first so many, rounded up to whole batches; 0: all */
    bool warm_up;         /* before measuring times, compute the first batches without measuring */
    bool keep_losses;     /* evaluator->losses shall have the loss of each image */
    bool stored;          /* the images lie in memory: see data_loader_bytes */
    size_t readers;       /* decode workers; 0: chosen by the number of cores */
    outcome_watch *watch; /* called for every image, in order; may be NULL */
    void *watcher;
};

/* Returns the largest batch that is tried for a set of `images` images. */
size_t evaluator_batch(const struct network *network, size_t images);

/* Makes an evaluator. Returns false with an error if the set does not fit the network or memory. */
bool evaluator_create(struct evaluator *evaluator, const struct evaluator_settings *settings,
                      struct error *error);
void evaluator_free(struct evaluator *evaluator); /* may be {0} */

/* Is called after each batch with the images that are done. Returning false, with a reason in
 * `error`, ends the pass. */
typedef bool evaluator_progress(void *context, uint64_t done, struct error *error);

/* Evaluates the whole set and fills *evaluation; `progress` may be NULL. Returns false with an
 * error. */
bool evaluator_run(struct evaluator *evaluator, evaluator_progress *progress, void *context,
                   struct evaluation *evaluation, struct error *error);

#endif
