/* samples.h: translates a few examples with a network that makes images, and writes them as
 * pictures. Internal to session/.
 *
 * The examples are the first of a paired set, read once. Plan, weights and device are borrowed. */
#ifndef TINCA_SESSION_MODEL_SAMPLES_H
#define TINCA_SESSION_MODEL_SAMPLES_H

#include "data/dataset/dataset.h"
#include "engine/execution/execution.h"
#include "engine/network/network.h"
#include "session/files/sample_files.h"

#include <stddef.h>
#include <stdint.h>

struct samples {
    const struct network *network;
    struct normalisation normalisation;
    const struct plan *plan; /* borrowed */
    struct execution *execution;
    size_t count;            /* at most SAMPLES */
    float *inputs, *targets; /* [count, C, H, W] */
};

/* Reads the examples. `plan` is one of inference, of batches of one image. If the set is not
 * paired, or the network's images have not 1 or 3 channels, there are no samples (count 0), which
 * is no error. Returns false with an error. */
bool samples_create(struct samples *samples, const struct network *network, struct weights *weights,
                    struct device *device, const struct dataset *dataset,
                    const struct normalisation *normalisation, const struct plan *plan,
                    struct error *error);
void samples_free(struct samples *samples); /* may be {0} */

/* Writes a PNG with a row per example: input, output, target. Returns false with an error. */
bool samples_write(const struct samples *samples, const char *path, struct error *error);

#endif
