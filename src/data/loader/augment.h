/* augment.h: crops and flips images for training and evaluation, and normalises them to float32,
 * or leaves them as 8-bit samples. */
#ifndef TINCA_DATA_LOADER_AUGMENT_H
#define TINCA_DATA_LOADER_AUGMENT_H

#include "data/loader/augmentation.h"

/* A window of an image. It may extend beyond the image, where pixels are black. */
struct crop {
    ptrdiff_t x, y; /* its upper left corner; may be negative */
    size_t width, height;
    bool flip; /* mirror it left to right */
};

/* Returns the window in the centre of `image`. */
struct crop crop_centre(const struct image *image, size_t width, size_t height);

/* How training images are cropped. */
struct crop_draw {
    const struct augmentation *augmentation; /* as augmentation_for returns it */
    uint64_t seed, epoch;
};

/* Returns the window of a training image. It depends on (seed, epoch, number) alone, so that every
 * data loader chooses the same one; `number` is that of the image or, if images are drawn with
 * replacement, that of the draw. */
struct crop crop_for_training(const struct dataset *dataset, const struct image *image,
                              const struct crop_draw *draw, uint64_t number);

/* The normalised value of every 8-bit sample, per channel, and what deep samples need. */
struct sample_table {
    float value[3][256];
    float mean[3], deviation[3];
};

void sample_table_fill(struct sample_table *table, const struct normalisation *normalisation);

/* Writes the window, normalised, as [C,H,W]. C is the number of channels of the image. */
void crop_write(float *out, const struct image *image, const struct crop *crop,
                const struct sample_table *table);

/* Writes the samples of the window of an 8-bit image as [C,H,W]. */
void crop_copy(uint8_t *out, const struct image *image, const struct crop *crop);

#endif
