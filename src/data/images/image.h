/* image.h: one picture in memory, and what is done to it before it becomes numbers. */
#ifndef TINCA_DATA_IMAGES_IMAGE_H
#define TINCA_DATA_IMAGES_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IMAGE_MAX_SIDE = 16384 }; /* what claims to be larger is refused before it is allocated */
enum { IMAGE_MAX_PIXELS = 1 << 27 };

/* 8-bit samples, interleaved: pixels[(y * width + x) * channels + c]; 1 channel (grey) or 3 (RGB).
 */
struct image {
    size_t width, height, channels;
    uint8_t *pixels;
};

/* Refuses a size that is zero or beyond IMAGE_MAX_SIDE and IMAGE_MAX_PIXELS. */
bool image_check_size(const char *path, size_t width, size_t height, struct error *error);

bool image_create(struct image *image, size_t width, size_t height, size_t channels,
                  struct error *error);
void image_free(struct image *image); /* leaves it {0} */

/* Resizes the image in place so that its shorter side has `shorter_side` pixels and its shape is
 * kept: it is first halved (each pixel the mean of four) as long as twice the size is left, then
 * resized bilinearly. */
bool image_fit(struct image *image, size_t shorter_side, struct error *error);

/* In place: to exactly width x height, halved first where that is much smaller; and to 1 or 3
 * channels. */
bool image_scale(struct image *image, size_t width, size_t height, struct error *error);
bool image_convert(struct image *image, size_t channels, struct error *error);

/* The part of `in` that begins at (x, y); must lie inside. */
bool image_cut(struct image *out, const struct image *in, size_t x, size_t y, size_t width,
               size_t height, struct error *error);

/* In place: to the `width` columns on the left, no more than there are. */
void image_keep_left(struct image *image, size_t width);

/* Lays `in` at (left, top) of a picture of width x height and fills the rest by reflection at its
 * edges, which are not repeated: c b | a b c | b a. `in` must fit. */
bool image_pad_reflected(struct image *out, const struct image *in, size_t left, size_t top,
                         size_t width, size_t height, struct error *error);

/* Bilinear, as in the studies' pre-processing; samples at pixel centres. */
bool image_resize(struct image *out, const struct image *in, size_t width, size_t height,
                  struct error *error);

/* The luma of ITU-R BT.601, as JPEG has it, rounded. */
static inline uint8_t image_grey(unsigned red, unsigned green, unsigned blue)
{
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

#endif
