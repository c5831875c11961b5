/* The picture is scaled so that a cell holds one pixel across and two down; then each cell takes
 * its two pixels. */
#include "ui/terminal/halfblock.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static size_t at_least_one(size_t count)
{
    return count ? count : 1;
}

/* Returns `side` scaled by `to / from`, rounded, at least 1. */
static size_t scaled(size_t side, size_t to, size_t from)
{
    return at_least_one((side * to + from / 2) / from);
}

static void fit(const struct image *image, size_t rows, size_t columns, size_t *height,
                size_t *width)
{
    *width = at_least_one(columns);
    *height = scaled(image->height, *width, image->width);
    if (*height > 2 * at_least_one(rows)) {
        *height = 2 * at_least_one(rows);
        *width = scaled(image->width, *height, image->height);
    }
}

static bool copy(struct image *out, const struct image *image, size_t width, size_t height,
                 struct error *error)
{
    return image_cut(out, image, 0, 0, image->width, image->height, error) &&
           image_convert(out, 3, error) && image_scale(out, width, height, error);
}

/* Copies the pixels into the cells. With an odd height the last row repeats its upper pixels. */
static void take_cells(struct halfblocks *blocks, const struct image *image)
{
    for (size_t row = 0; row < blocks->rows; row++) {
        const size_t lower = 2 * row + 1 < image->height ? 2 * row + 1 : 2 * row;
        for (size_t column = 0; column < blocks->columns; column++) {
            struct halfblock *cell = &blocks->cells[row * blocks->columns + column];
            memcpy(cell->upper, image->pixels + (2 * row * image->width + column) * 3, 3);
            memcpy(cell->lower, image->pixels + (lower * image->width + column) * 3, 3);
        }
    }
}

bool halfblocks_make(struct halfblocks *blocks, const struct image *image, size_t rows,
                     size_t columns, struct error *error)
{
    size_t width, height;
    struct image small = {0};
    *blocks = (struct halfblocks){0};
    fit(image, rows, columns, &height, &width);
    if (copy(&small, image, width, height, error)) {
        blocks->rows = (height + 1) / 2;
        blocks->columns = width;
        blocks->cells =
            memory_new(blocks->rows * width, sizeof *blocks->cells, "a picture's cells", error);
    }
    if (blocks->cells)
        take_cells(blocks, &small);
    image_free(&small);
    return blocks->cells != NULL;
}

void halfblocks_free(struct halfblocks *blocks)
{
    free(blocks->cells);
    *blocks = (struct halfblocks){0};
}

/* --- the colours of xterm --- */

static int distance(const uint8_t rgb[3], int red, int green, int blue)
{
    const int r = rgb[0] - red, g = rgb[1] - green, b = rgb[2] - blue;
    return r * r + g * g + b * b;
}

uint8_t colour_nearest(const uint8_t rgb[3])
{
    static const uint8_t levels[6] = {0, 95, 135, 175, 215, 255};
    int step[3];
    for (int i = 0; i < 3; i++)
        step[i] = rgb[i] < 48 ? 0 : rgb[i] < 115 ? 1 : (rgb[i] - 35) / 40;
    const int mean = (rgb[0] + rgb[1] + rgb[2]) / 3;
    const int grey = mean < 8 ? 0 : mean > 238 ? 23 : (mean - 3) / 10;
    const int cube_off = distance(rgb, levels[step[0]], levels[step[1]], levels[step[2]]);
    const int grey_off = distance(rgb, 8 + 10 * grey, 8 + 10 * grey, 8 + 10 * grey);
    return (uint8_t)(grey_off < cube_off ? 232 + grey : 16 + 36 * step[0] + 6 * step[1] + step[2]);
}
