/* dataset_source.h: what the data loader needs of a data set beyond dataset.h. Internal to data/.
 */
#ifndef TINCA_DATA_DATASET_DATASET_SOURCE_H
#define TINCA_DATA_DATASET_DATASET_SOURCE_H

#include "data/dataset/dataset.h"
#include "data/images/source.h"

/* As dataset_image, but for `evaluating` a paired set comes at exactly the wanted size. */
bool dataset_image_for(const struct dataset *dataset, size_t index, bool evaluating,
                       struct image *image, struct image *target, struct error *error);
const struct source *dataset_source(const struct dataset *dataset);
/* The source's number of image `index`. */
size_t dataset_source_index(const struct dataset *dataset, size_t index);

#endif
