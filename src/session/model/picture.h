/* picture.h: what a network takes or makes, as a picture for people. Internal to session/. */
#ifndef TINCA_SESSION_MODEL_PICTURE_H
#define TINCA_SESSION_MODEL_PICTURE_H

#include "data/dataset/dataset.h"
#include "data/images/image.h"
#include "engine/graph/tensor.h"

#include <stddef.h>

/* Lays an image of 1 or 3 channels, normalised values [C, H, W], into an RGB picture that has room
 * for it at (left, top). Samples are rounded; what is out of range becomes black or full, and what
 * is no number black. */
void picture_lay(struct image *picture, size_t left, size_t top,
                 const struct normalisation *normalisation, struct shape shape,
                 const float *values);

#endif
