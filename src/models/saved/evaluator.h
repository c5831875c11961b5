/* evaluator.h: computes a network's loss and accuracy on a data set, for validation and for eval.
 *
 * It borrows weights, device and data set. Losses are summed
 * in double, in the order of the images: the same for any number of threads.
 *
 * Several evaluators, in one process each, can divide a pass: each computes some of the batches
 * (evaluator_divide, evaluator_run_part), and one of them joins the results of all images, in the
 * order of the images, to what it alone would have computed (evaluator_join). */
#ifndef TINCA_MODELS_SAVED_EVALUATOR_H
#define TINCA_MODELS_SAVED_EVALUATOR_H

#include "data/loader/data_loader.h"
#include "models/saved/evaluate.h"

#include <stdint.h>

/* The largest batch (1 for networks that make images), and the least number of images of a warm-up.
 */
enum { EVALUATOR_BATCH = 100, EVALUATOR_WARM_UP = 10 };

/* The result of an image in an evaluation. */
struct image_result {
    uint32_t index; /* of the image in the data set */
    float loss;
    uint32_t score; /* how many classes rank before the right one; of a picture: its right pixels */
};

struct evaluator {
    const struct network *network;
    struct device *device;
    const struct dataset *dataset;
    struct normalisation normalisation;
    const struct plan *plan;
    struct plan *own_plan; /* NULL: it is the caller's */
    struct execution *execution;
    struct data_loader *loader;
    struct data_loader_settings loader_settings;
    double *times;        /* ms/image by batch, of the last pass */
    float *losses;        /* by image, in order, of the last pass; NULL: not asked for */
    unsigned char *right; /* a bit for each image that was classified correctly in the last pass
                             (correct_images.h); NULL: there are no classes */
    struct image_result *results; /* by image: of a batch, or of all own batches if divided */
    size_t batches, warm_up;
    size_t parts, part; /* divided: it has every parts-th batch, from number `part` on; else 1, 0 */
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
    const struct plan *plan; /* the plan of an inference with loss, which must live as long; NULL:
                                it builds one, in batches as the next members say */
    size_t batch;            /* 0: as large as fits, at most EVALUATOR_BATCH */
    uint64_t memory_free;    /* bytes; 0: not known */
    double tolerance;        /* a pixel is right when every channel is within this, of 255 */
    size_t images;      /* only this number of first images, rounded up to whole batches; 0: all */
    bool warm_up;       /* before measuring times, compute the first batches without measuring */
    bool keep_losses;   /* evaluator->losses gets the loss of each image */
    bool refuse_memory; /* the given batch must fit memory_free; else memory decides nothing */
    bool strict;        /* an unreadable image is an error: see data_loader.h */
    bool stored;        /* the images lie in memory: see data_loader_bytes */
    size_t readers;     /* decode workers; 0: chosen by the number of cores */
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

/* --- a pass that is divided --- */

/* Restricts the evaluator to every `parts`-th batch, beginning with number `part`, which must
 * exist; 1 part: the whole pass. Returns false with an error; then it can only be freed. */
bool evaluator_divide(struct evaluator *evaluator, size_t parts, size_t part, struct error *error);

/* Evaluates its batches into evaluator->results. `progress` gets the images that all parts have
 * done if they are equally fast. Returns false with an error. */
bool evaluator_run_part(struct evaluator *evaluator, evaluator_progress *progress, void *context,
                        struct error *error);

/* Fills *evaluation with the results of all parts: those of part p begin at
 * all[places[p] * evaluator_part_images()]. Returns false with an error. */
bool evaluator_join(struct evaluator *evaluator, const struct image_result *all,
                    const size_t *places, struct evaluation *evaluation, struct error *error);

#endif
