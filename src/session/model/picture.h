/* picture.h: converts the input or output of a network to a picture. Internal to session/. */
#ifndef TINCA_SESSION_MODEL_PICTURE_H
#define TINCA_SESSION_MODEL_PICTURE_H

#include "data/dataset/dataset.h"
#include "data/images/image.h"
#include "engine/graph/tensor.h"

#include <stddef.h>

/* Writes normalised values [C, H, W] of 1 or 3 channels into an RGB picture at (left, top), where
 * they must fit. Values are rounded and clipped to 0..255; NaN becomes 0. */
void picture_paste(struct image *picture, size_t left, size_t top,
                   const struct normalisation *normalisation, struct shape shape,
                   const float *values);

#endif
