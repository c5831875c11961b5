/* epoch_order.h: the order in which an epoch of training reads the images.
 *
 * Shuffled, it reads each image once (whole batches of it are used). Balanced, it draws as many
 * images as the set has, with replacement: first a class, all classes that have images being
 * equally likely, then one of its images (PyTorch's WeightedRandomSampler with the weights 1 /
 * images of the class). Either depends on (seed, epoch) alone.
 */
#ifndef TINCA_DATA_LOADER_EPOCH_ORDER_H
#define TINCA_DATA_LOADER_EPOCH_ORDER_H

#include "data/dataset/dataset.h"

/* The images of a set by class. It starts as {0}. */
struct class_images {
    uint32_t *images;      /* [images of the set]: sorted by class */
    size_t *ends;          /* [classes]: where each class ends in `images`; only occupied ones */
    size_t classes, count; /* classes that have images; images */
};

/* Sorts the images of a set. Returns false with an error. */
bool class_images_make(struct class_images *classes, const struct dataset *dataset,
                       struct error *error);
void class_images_free(struct class_images *classes);

/* Writes the order of an epoch to order[images of the set]. `classes` NULL: shuffled. */
void epoch_order_fill(const struct class_images *classes, uint64_t seed, uint64_t epoch,
                      uint32_t *order, size_t images);

#endif
