/* dataset_source.h: the parts of a data set that only data/ may use, in addition to dataset.h. */
#ifndef TINCA_DATA_DATASET_DATASET_SOURCE_H
#define TINCA_DATA_DATASET_DATASET_SOURCE_H

#include "data/dataset/dataset.h"
#include "data/images/source.h"

/* Reads an image like dataset_image. If `evaluating`, the images of a pair have exactly the size of
 * the network's input, without the margin for random crops. */
bool dataset_image_for(const struct dataset *dataset, size_t index, bool evaluating,
                       struct image *image, struct image *target, struct error *error);

/* Returns the source that the set reads from. */
const struct source *dataset_source(const struct dataset *dataset);

/* Returns the number of image `index` within the source. */
size_t dataset_source_index(const struct dataset *dataset, size_t index);

#endif
