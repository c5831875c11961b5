/* training_example.h: one image as training sees it: read, cropped, changed and normalised, or left
 * as samples. */
#ifndef TINCA_DATA_LOADER_TRAINING_EXAMPLE_H
#define TINCA_DATA_LOADER_TRAINING_EXAMPLE_H

#include "data/loader/augment.h"

/* The settings by which the images of a run are prepared. */
struct example_style {
    const struct dataset *dataset;
    const struct augmentation *augmentation; /* as augmentation_for returns it */
    const struct normalisation *normalisation;
    const struct sample_table *table; /* of the normalisation */
    uint64_t seed;
    float mask; /* the value that cutout writes: 0, the mean, in training */
};

/* The image that is prepared, and the numbers on which its random numbers depend. */
struct example_draw {
    size_t index;    /* of the image */
    uint64_t epoch;  /* augmentation depends on the epoch and `number` */
    uint64_t number; /* `index`, or that of the draw if images are drawn with replacement */
};

/* Reads an image and writes it to `image` and, of a paired set, its target to `target`, both
 * [C,H,W]; it is not mixed with another one. Returns false with an error. Thread-safe. */
bool training_example_read(const struct example_style *style, const struct example_draw *draw,
                           float *image, float *target, struct error *error);

/* Does the same for an augmentation that keeps the samples (augmentation.h), which are not
 * normalised. A picture with more than 8 bits a sample is an error. */
bool training_example_read_samples(const struct example_style *style,
                                   const struct example_draw *draw, uint8_t *image, uint8_t *target,
                                   struct error *error);

#endif
