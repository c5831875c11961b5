/* halfblock.h: scales a picture to character cells of two pixels each.
 *
 * A cell shows the glyph U+2580 (upper half block): the foreground colour is the upper pixel, the
 * background colour the lower one. This module computes the colours; draw.c and graphics.c
 * send them to the terminal.
 */
#ifndef TINCA_UI_TERMINAL_HALFBLOCK_H
#define TINCA_UI_TERMINAL_HALFBLOCK_H

#include "base/error.h"
#include "data/images/image.h"

#include <stddef.h>
#include <stdint.h>

struct halfblock {
    uint8_t upper[3], lower[3]; /* RGB */
};

struct halfblocks {
    size_t rows, columns;
    struct halfblock *cells; /* [rows][columns] */
};

/* Scales the picture to the largest size that keeps its shape within rows x columns cells (at least
 * 1x1); a cell counts as twice as high as wide. Grey pictures become RGB. Returns false with an
 * error if out of memory. */
bool halfblocks_make(struct halfblocks *blocks, const struct image *image, size_t rows,
                     size_t columns, struct error *error);

/* Frees the cells and leaves `*blocks` {0}. */
void halfblocks_free(struct halfblocks *blocks);

/* Returns the nearest of xterm's fixed colours: the 6x6x6 cube (16..231) or the greys (232..255).
 */
uint8_t colour_nearest(const uint8_t rgb[3]);

#endif
