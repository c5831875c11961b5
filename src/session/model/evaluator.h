/* evaluator.h: a network's loss and accuracy on a data set, for validation and for eval. Internal
 * to session/.
 *
 * It has an inference plan of its own and borrows weights, device and data set. Losses are summed
 * in double, in the order of the images: the same for any number of threads. */
#ifndef TINCA_SESSION_MODEL_EVALUATOR_H
#define TINCA_SESSION_MODEL_EVALUATOR_H

#include "data/loader/data_loader.h"
#include "session/model/evaluate.h"

#include <stdint.h>

/* Batches as large as fits, up to so many images (1 for networks that make images); warm-up passes
 * go over so many images or more. */
enum { EVALUATOR_BATCH = 100, EVALUATOR_WARM_UP = 10 };

struct evaluator {
    const struct network *network;
    struct device *device;
    const struct dataset *dataset;
    struct plan *plan;
    struct execution *execution;
    struct data_loader *loader;
    double *times; /* ms/image by batch, of the last pass */
    size_t batches, warm_up;
    outcome_watch *watch;
    void *watcher;
    double tolerance[3]; /* by channel, in what the network sees */
};

struct evaluator_settings {
    const struct network *network;
    struct weights *weights;
    struct device *device;
    const struct dataset *dataset;
    const struct normalisation *normalisation;
    size_t batch;         /* 0: decided by what fits, at most EVALUATOR_BATCH */
    uint64_t memory_free; /* bytes; 0: not known */
    double tolerance;     /* a pixel is right when every channel is within this, of 255 */
    size_t images;        /* only the first so many, rounded up to whole batches; 0: all */
    bool warm_up;         /* pass over the first batch unmeasured before: the times are asked for */
    bool stored;          /* the images lie in memory: see data_loader_bytes */
    size_t readers;       /* threads that read images; 0: decided here */
    outcome_watch *watch; /* told of every image, in order; NULL: nobody is */
    void *watcher;
};

/* The largest batch that is tried on a set of so many images. */
size_t evaluator_batch(const struct network *network, size_t images);

/* Refuses a set that the network cannot be measured on. */
bool evaluator_create(struct evaluator *evaluator, const struct evaluator_settings *settings,
                      struct error *error);
void evaluator_free(struct evaluator *evaluator); /* may be {0} */

/* Told after each batch how many images are done; false, with a reason in `error`, ends the pass.
 */
typedef bool evaluator_progress(void *context, uint64_t done, struct error *error);

/* One pass over the set; `progress` may be NULL. Fills all of `evaluation`. */
bool evaluator_run(struct evaluator *evaluator, evaluator_progress *progress, void *context,
                   struct evaluation *evaluation, struct error *error);

#endif
