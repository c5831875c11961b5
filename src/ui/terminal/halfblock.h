/* halfblock.h: a picture as character cells.
 *
 * A cell shows two pixels, one above the other: the glyph U+2580 (upper half block) in the upper
 * pixel's colour on the lower one's. Here are only the numbers; who draws them decides how colours
 * reach the terminal.
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

/* The largest that keeps the picture's shape within rows x columns cells (at least 1x1), taking a
 * cell as twice as high as it is wide. Grey pictures become RGB. */
bool halfblocks_make(struct halfblocks *blocks, const struct image *image, size_t rows,
                     size_t columns, struct error *error);
void halfblocks_free(struct halfblocks *blocks); /* leaves it {0} */

/* The nearest of xterm's fixed colours: the 6x6x6 cube (16..231) or the greys (232..255). */
uint8_t colour_nearest(const uint8_t rgb[3]);

#endif
