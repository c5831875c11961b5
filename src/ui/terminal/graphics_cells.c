/* Writes half blocks with SGR colour sequences. A colour is sent only where it changes. */
#include "ui/terminal/graphics.h"
#include "ui/terminal/halfblock.h"

#include <string.h>

/* Appends the colour of the upper half (`which` 38, foreground) or the lower one (48, background).
 */
static void write_colour(struct text *out, int which, const uint8_t rgb[3], bool truecolor)
{
    if (truecolor)
        text_append(out, "\033[%d;2;%d;%d;%dm", which, rgb[0], rgb[1], rgb[2]);
    else
        text_append(out, "\033[%d;5;%dm", which, colour_nearest(rgb));
}

static void write_row(struct text *out, const struct halfblock *cells, size_t columns,
                      bool truecolor)
{
    for (size_t i = 0; i < columns; i++) {
        if (i == 0 || memcmp(cells[i].upper, cells[i - 1].upper, 3) != 0)
            write_colour(out, 38, cells[i].upper, truecolor);
        if (i == 0 || memcmp(cells[i].lower, cells[i - 1].lower, 3) != 0)
            write_colour(out, 48, cells[i].lower, truecolor);
        text_append(out, "\xe2\x96\x80");
    }
    text_append(out, "\033[0m");
}

bool graphics_write_cells(struct text *out, const struct image *image, struct rect area,
                          bool truecolor, struct error *error)
{
    struct halfblocks blocks;
    if (!halfblocks_make(&blocks, image, (size_t)area.rows, (size_t)area.columns, error))
        return false;
    const int top = area.row + (area.rows - (int)blocks.rows) / 2;
    const int left = area.column + (area.columns - (int)blocks.columns) / 2;
    for (size_t row = 0; row < blocks.rows; row++) {
        text_append(out, "\033[%d;%dH", top + (int)row + 1, left + 1);
        write_row(out, blocks.cells + row * blocks.columns, blocks.columns, truecolor);
    }
    halfblocks_free(&blocks);
    return true;
}
