/* generate.h: the generators of the built-in data sets. Internal to data/.
 *
 * A generator draws image `index` of a split from random numbers that depend on the set, the split
 * and the index alone. So no image is stored, and any thread may draw any image at any time.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_H
#define TINCA_DATA_GENERATED_GENERATE_H

#include "base/random.h"
#include "data/images/image.h"

/* The version of the generators' images. Raise it when an image of any set changes, so that a run
 * that began with the old images is not resumed with the new ones. */
enum { GENERATOR_VERSION = 1 };

/* Draws an image of class `label`. `draws` is at the first random number of the image. `image` has
 * the size of the set; `target` is the second image of a pair, else NULL. */
typedef void generate_image(struct random_stream *draws, size_t label, struct image *image,
                            struct image *target);

generate_image generate_shape, generate_digit, generate_tench, generate_map;

extern const char *const generate_shape_names[10], *const generate_digit_names[10];

#endif
