/* predictor.h: computes a model's output for a list of picture files of any length.
 *
 * Worker threads read pictures ahead of the network, which computes them in batches, in the order
 * of the list. The memory does not depend on the number of pictures. A picture that cannot be read
 * takes its place in the batch with zeros and is reported with the reason. Not thread safe. */
#ifndef TINCA_MODELS_SAVED_PREDICTOR_H
#define TINCA_MODELS_SAVED_PREDICTOR_H

#include "models/saved/evaluate.h"

enum { PREDICTOR_BATCH = 32 };

struct predictor_request {
    const struct model *model;
    char *const *paths;
    size_t count, first; /* begin with picture number `first` */
};

/* Is called for each picture, in order: with the network's output, or with NULL and the reason why
 * the picture cannot be read. Returning false, with a reason in `error`, ends the prediction. */
typedef bool predictor_watch(void *context, size_t index, const float *output,
                             const struct error *broken, struct error *error);

/* Is called after each batch, in the same way. */
typedef bool predictor_batch_end(void *context, struct error *error);

/* Computes all pictures. Returns false with an error. */
bool predictor_run(const struct predictor_request *request, predictor_watch *watch,
                   predictor_batch_end *batch_end, void *context, struct error *error);

#endif
