/* palette.h: reduces a picture to at most 256 colours by median cut (Heckbert 1982, "Color image
 * quantization for frame buffer display"). Pixels are first sorted into bins of 32 levels in each
 * channel. */
#ifndef TINCA_UI_TERMINAL_PALETTE_H
#define TINCA_UI_TERMINAL_PALETTE_H

#include "base/error.h"
#include "data/images/image.h"

#include <stddef.h>
#include <stdint.h>

enum { PALETTE_MAX = 256, PALETTE_BINS = 32 * 32 * 32 };

struct palette {
    size_t count; /* colours in use */
    uint8_t colours[PALETTE_MAX][3];
    uint8_t of_bin[PALETTE_BINS]; /* the index of the colour that replaces a bin of the picture */
};

/* Chooses the colours for an RGB picture. Returns false with an error if out of memory. */
bool palette_make(struct palette *palette, const struct image *image, struct error *error);

/* Returns the bin of a pixel. */
static inline size_t palette_bin(const uint8_t rgb[3])
{
    return (size_t)(rgb[0] >> 3) << 10 | (size_t)(rgb[1] >> 3) << 5 | (size_t)(rgb[2] >> 3);
}

#endif
