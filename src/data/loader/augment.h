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

/* The settings and random numbers by which training images are cropped. */
struct crop_draw {
    const struct augmentation *augmentation; /* as augmentation_for returns it */
    uint64_t seed, epoch;
};

/* Returns the window of a training image. It depends on (seed, epoch, number) alone, so that every
 * data loader chooses the same one; `number` is that of the image or, if images are drawn with
 * replacement, that of the draw. */
struct crop crop_for_training(const struct dataset *dataset, const struct image *image,
                              const struct crop_draw *draw, uint64_t number);

/* The normalised value of every 8-bit sample, per channel, and the normalisation of deep samples.
 */
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

/* --- turns, recolours and masks the window of a training image --- */

/* All zeros: no change. */
struct picture_change {
    bool turns, colors, masks;
    double degrees;                         /* counter-clockwise, about the centre of the window */
    float brightness, contrast, saturation; /* factors */
    ptrdiff_t left, top; /* the corner of the masked square; it may begin outside of the window */
    ptrdiff_t side;      /* of the square */
};

/* Draws the change of a training image, of which the window has this size. It depends on (seed,
 * epoch, number) alone. The angle is uniform in [-rotate, rotate]; each factor of colour uniform in
 * [max(0, 1 - strength), 1 + strength]; the centre of the square uniform in the window. */
struct picture_change picture_change_draw(const struct augmentation *augmentation, uint64_t seed,
                                          uint64_t epoch, uint64_t number, size_t width,
                                          size_t height);

/* Writes the window of an image, changed and then normalised, as [C,H,W]. `table` belongs to the
 * normalisation. The masked square gets the value `mask`: 0 is the mean of the normalisation. */
void picture_change_write(float *out, const struct image *image, const struct crop *crop,
                          const struct picture_change *change,
                          const struct normalisation *normalisation,
                          const struct sample_table *table, float mask);

#endif
