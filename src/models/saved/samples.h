/* samples.h: translates a few examples with a network that makes images, and writes them as
 * pictures.
 *
 * The examples are the first of a paired set, read once. Plan, weights and device are borrowed. */
#ifndef TINCA_MODELS_SAVED_SAMPLES_H
#define TINCA_MODELS_SAVED_SAMPLES_H

#include "data/dataset/dataset.h"
#include "data/images/image.h"
#include "engine/execution/execution.h"
#include "engine/graph/tensor.h"
#include "engine/network/network.h"
#include "runs/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- finding pictures --- */

/* Finds the pictures of a run (sample-EPOCH.png). Each has a row per example: input, output,
 * target. */

enum { SAMPLES = 4 }; /* examples at most */

struct sample_file {
    char path[640];
    size_t epoch;
    uint64_t stamp; /* time of modification, nanoseconds: it changes when the file is rewritten */
};

/* Finds the newest picture. Returns false if there is none. */
bool sample_file_newest(const char *run_directory, struct sample_file *file);

/* Returns how many examples the run's pictures show; 0 if its network makes no pictures. */
size_t sample_examples(const struct run_facts *facts);

/* --- values to pictures --- */

/* Writes normalised values [C, H, W] of 1 or 3 channels into an RGB picture at (left, top), where
 * they must fit. Values are rounded and clipped to 0..255; NaN becomes 0. */
void picture_paste(struct image *picture, size_t left, size_t top,
                   const struct normalisation *normalisation, struct shape shape,
                   const float *values);

/* --- examples --- */

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

/* Return the bytes of samples that `plan` computes one by one, its arrays included, and the bytes
 * of the picture of all samples while it is written. */
uint64_t samples_bytes(const struct network *network, const struct plan *plan);
uint64_t samples_picture_bytes(const struct network *network);

/* Writes a PNG with a row per example: input, output, target. Returns false with an error. */
bool samples_write(const struct samples *samples, const char *path, struct error *error);

#endif
