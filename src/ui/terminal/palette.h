/* palette.h: at most 256 colours for a picture, by median cut (Heckbert 1982: "Color image
 * quantization for frame buffer display"). Colours are first gathered into 32 levels a channel. */
#ifndef TINCA_UI_TERMINAL_PALETTE_H
#define TINCA_UI_TERMINAL_PALETTE_H

#include "base/error.h"
#include "data/images/image.h"

#include <stddef.h>
#include <stdint.h>

enum { PALETTE_MAX = 256, PALETTE_BINS = 32 * 32 * 32 };

struct palette {
    size_t count;
    uint8_t colours[PALETTE_MAX][3];
    uint8_t of_bin[PALETTE_BINS]; /* which colour stands for a bin that the picture has */
};

/* Needs RGB. */
bool palette_make(struct palette *palette, const struct image *image, struct error *error);

static inline size_t palette_bin(const uint8_t rgb[3])
{
    return (size_t)(rgb[0] >> 3) << 10 | (size_t)(rgb[1] >> 3) << 5 | (size_t)(rgb[2] >> 3);
}

#endif
