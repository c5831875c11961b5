/* correct_images.h: which images of the validation set a run classified correctly, a bit each, in
 * RUN/correct.json. Two runs that validated on the same set can be compared image by image.
 *
 * {"format": "tinca-correct", "version": 1, "data_crc32": "0a1b2c3d", "images": N,
 *  "best": PASS or null, "final": PASS or null}, where PASS is {"iteration", "right", "bits"}:
 * "bits" has two hexadecimal digits for every eight images, the first image in the highest bit.
 * data_crc32 is that of the validation set's description in data.json, without what becomes of the
 * images once they are read. "best" is the validation whose model is best.safetensors, "final" the
 * last one.
 *
 * Not thread-safe. */
#ifndef TINCA_MODELS_SAVED_CORRECT_IMAGES_H
#define TINCA_MODELS_SAVED_CORRECT_IMAGES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct correct_pass {
    uint64_t iteration;
    size_t right;        /* images */
    unsigned char *bits; /* NULL: there is none */
};

struct correct_images { /* {0}: nothing is known */
    size_t images;
    uint32_t data; /* data_crc32 */
    bool data_known;
    struct correct_pass best, final;
};

/* Returns the bytes of `images` bits. */
size_t correct_images_bytes(size_t images);

/* Sets the bit of an image. */
void correct_images_set(unsigned char *bits, size_t image);

/* Copies the bits of a validation as the last one and, if `is_best`, as the best one. Returns false
 * with an error if out of memory. */
bool correct_images_take(struct correct_images *correct, const unsigned char *bits, size_t images,
                         uint64_t iteration, bool is_best, struct error *error);

/* Copies everything. Returns false with an error if out of memory; *copy may be freed anyway. */
bool correct_images_copy(struct correct_images *copy, const struct correct_images *correct,
                         struct error *error);

/* Writes the file; does nothing if there is no validation yet, or if the folder has no data.json.
 * Returns false with an error. */
bool correct_images_write(struct correct_images *correct, const char *directory,
                          struct error *error);

/* Reads the file; a missing one leaves `correct` {0}. Returns false with an error if it is damaged,
 * and `correct` is {0}. */
bool correct_images_read(struct correct_images *correct, const char *directory,
                         struct error *error);

/* Counts the images that only one of two passes over the same set has right. */
void correct_images_count(const struct correct_pass *a, const struct correct_pass *b, size_t images,
                          size_t *first_only, size_t *second_only);

void correct_images_free(struct correct_images *correct); /* leaves it {0} */

#endif
