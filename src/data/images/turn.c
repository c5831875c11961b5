/* Pictures that a camera stored turned become upright. */
#include "data/images/image.h"

#include <string.h>

enum { TILE = 32 }; /* columns of the output stay in the cache while rows of the input are read */

/* How the pixel (x, y) of the upright picture is found: EXIF counts the orientations from 1. */
struct turn {
    bool swapped;       /* its row is a column as stored */
    bool right, bottom; /* columns, rows as stored are counted from the right, the bottom */
};

static const struct turn turns[] = {
    [1] = {false, false, false}, [2] = {false, true, false}, [3] = {false, true, true},
    [4] = {false, false, true},  [5] = {true, false, false}, [6] = {true, false, true},
    [7] = {true, true, true},    [8] = {true, true, false}};

/* Copies a pixel of the stored picture to (x, y) of the upright one. */
static void copy_pixel(struct image *out, const struct image *in, const struct turn *turn, size_t x,
                       size_t y)
{
    size_t column = turn->swapped ? y : x, row = turn->swapped ? x : y;
    column = turn->right ? in->width - 1 - column : column;
    row = turn->bottom ? in->height - 1 - row : row;
    const size_t from = (row * in->width + column) * in->channels;
    const size_t to = (y * out->width + x) * in->channels;
    for (size_t c = 0; c < in->channels; c++)
        if (in->deep)
            out->deep[to + c] = in->deep[from + c];
        else
            out->pixels[to + c] = in->pixels[from + c];
}

static void copy_tile(struct image *out, const struct image *in, const struct turn *turn,
                      size_t left, size_t top)
{
    for (size_t y = top; y < top + TILE && y < out->height; y++)
        for (size_t x = left; x < left + TILE && x < out->width; x++)
            copy_pixel(out, in, turn, x, y);
}

bool image_turn(struct image *image, unsigned orientation, struct error *error)
{
    struct image out;
    if (orientation <= 1 || orientation >= sizeof turns / sizeof *turns)
        return true;
    const struct turn *turn = &turns[orientation];
    const size_t width = turn->swapped ? image->height : image->width;
    const size_t height = turn->swapped ? image->width : image->height;
    if (!(image->deep ? image_create_deep : image_create)(&out, width, height, image->channels,
                                                          error))
        return false;
    for (size_t y = 0; y < height; y += TILE)
        for (size_t x = 0; x < width; x += TILE)
            copy_tile(&out, image, turn, x, y);
    image_free(image);
    *image = out;
    return true;
}
