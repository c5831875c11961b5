/* generate.h: the generators of the built-in sets. Internal to data/.
 *
 * A generator draws image `index` of a split from scratch, by draws that depend on the set, the
 * split and the index only: nothing is stored, and any thread may draw any image at any time.
 */
#ifndef TINCA_DATA_GENERATED_GENERATE_H
#define TINCA_DATA_GENERATED_GENERATE_H

#include "base/random.h"
#include "data/images/image.h"

/* The version of what the generators draw: raise it when an image of any of the sets changes, so
 * that a run that began with the images of before is not resumed with others. */
enum { GENERATOR_VERSION = 1 };

/* `draws` stands at the image's first number. `image` has the set's size; `target` is the second
 * image of a pair, else NULL. */
typedef void generate_image(struct random_stream *draws, size_t label, struct image *image,
                            struct image *target);

generate_image generate_shape, generate_digit, generate_tench, generate_map;

extern const char *const generate_shape_names[10], *const generate_digit_names[10];

#endif
