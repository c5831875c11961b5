/* picture_change.h: turns, recolours and masks the window of a training image. */
#ifndef TINCA_DATA_LOADER_PICTURE_CHANGE_H
#define TINCA_DATA_LOADER_PICTURE_CHANGE_H

#include "data/loader/augment.h"

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
