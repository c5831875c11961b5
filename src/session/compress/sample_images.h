/* sample_images.h: some images of a data set, drawn at random, in memory. Internal to session/. */
#ifndef TINCA_SESSION_COMPRESS_SAMPLE_IMAGES_H
#define TINCA_SESSION_COMPRESS_SAMPLE_IMAGES_H

#include "session/model/evaluate.h"

struct sample_images {
    size_t count, values; /* images; numbers of an image */
    float *images;        /* [count, C, H, W], normalised as the model's training images */
    int32_t *labels;      /* [count] */
};

/* Reads `count` images, or all if there are fewer, of the set `spec`, from its training split
 * unless the spec names one. Which ones depends on the seed alone. Returns false with an error;
 * call sample_images_free in any case. */
bool sample_images_read(struct sample_images *sample, struct model *model, const char *spec,
                        size_t count, uint64_t seed, struct error *error);
void sample_images_free(struct sample_images *sample); /* may be {0} */

/* What a network makes of a sample. */
struct sample_result {
    size_t images, right; /* right: the most probable class is the label */
    double loss;          /* mean cross-entropy of the softmax */
};

/* Computes the first `images` images of the sample. Returns false with an error. */
bool sample_images_evaluate(const struct sample_images *sample, size_t images,
                            const struct network *network, struct weights *weights,
                            struct device *device, struct sample_result *result,
                            struct error *error);

#endif
