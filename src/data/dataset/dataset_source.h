/* dataset_source.h: the parts of a data set that only data/ may use, in addition to dataset.h. */
#ifndef TINCA_DATA_DATASET_DATASET_SOURCE_H
#define TINCA_DATA_DATASET_DATASET_SOURCE_H

#include "data/dataset/dataset.h"
#include "data/images/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads an image like dataset_image. If `evaluating`, the images of a pair have exactly the size of
 * the network's input, without the margin for random crops. */
bool dataset_image_for(const struct dataset *dataset, size_t index, bool evaluating,
                       struct image *image, struct image *target, struct error *error);

/* Returns the source that the set reads from. */
const struct source *dataset_source(const struct dataset *dataset);

/* Returns the number of image `index` within the source. */
size_t dataset_source_index(const struct dataset *dataset, size_t index);

/* Draws images evenly over the classes of a source. Internal to data/. */

/* Keeps `wanted` of the images chosen[0..*count), which are numbers of the source's images, in
 * their order. Every class keeps the same number, as far as it has so many; which ones is random,
 * but the same each time. If `labelled` is false, all images count as one class. Returns false with
 * an error if out of memory. */
bool selection_draw(const struct source *source, bool labelled, uint32_t *chosen, size_t *count,
                    size_t wanted, struct error *error);

/* A part of the images that is drawn by a seed. */
struct selection_share {
    double share; /* in (0, 1) */
    uint64_t seed;
    bool rest; /* all images but that part */
};

/* Keeps that part of the images chosen[0..*count), in their order. Every class gives the same share
 * of its images, rounded so that the parts add up to the share of all, and keeps at least one for
 * the rest. Returns false with an error if out of memory. */
bool selection_divide(const struct source *source, bool labelled, uint32_t *chosen, size_t *count,
                      const struct selection_share *share, struct error *error);

/* Returns how many of the source's classes have images among chosen[0..count) (NULL: the source's
 * first `count` images), or 0 if out of memory. */
size_t selection_classes(const struct source *source, const uint32_t *chosen, size_t count);

#endif
