/* samples.h: what a network that makes images makes of a few examples, as pictures. Internal to
 * session/.
 *
 * The examples are the first of a paired set, read once. It has an inference plan of its own and
 * borrows weights and device. */
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
    struct plan *plan;
    struct execution *execution;
    size_t count;            /* at most SAMPLES */
    float *inputs, *targets; /* [count, C, H, W] */
};

/* Images have 1 or 3 channels: without a picture of the network's shapes, and for sets that are not
 * paired, there are no samples (count 0), and that is no error. */
bool samples_create(struct samples *samples, const struct network *network, struct weights *weights,
                    struct device *device, const struct dataset *dataset,
                    const struct normalisation *normalisation, struct error *error);
void samples_free(struct samples *samples); /* may be {0} */

/* Writes a PNG, a row an example: input, what the network makes of it, target. */
bool samples_write(const struct samples *samples, const char *path, struct error *error);

#endif
