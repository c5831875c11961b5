/* image.h: a picture in memory, and its resizing, cropping and conversion. */
#ifndef TINCA_DATA_IMAGES_IMAGE_H
#define TINCA_DATA_IMAGES_IMAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that claims more than this is refused before anything is allocated. */
enum { IMAGE_MAX_SIDE = 16384 };
enum { IMAGE_MAX_PIXELS = 1 << 27 };

/* Samples, interleaved: pixels[(y * width + x) * channels + c]. 1 channel (grey) or 3 (RGB). Most
 * pictures have 8-bit samples; one with more precision is `deep`: its samples are floating-point
 * numbers in the same units, 0..255. One of the two arrays is NULL. */
struct image {
    size_t width, height, channels;
    uint8_t *pixels;
    float *deep;
};

/* The filters by which pictures are resized. */
enum image_filter {
    IMAGE_BILINEAR,  /* a triangle, as wide as the reduction: BILINEAR of Pillow, and torchvision */
    IMAGE_BICUBIC,   /* the cubic of Keys with a = -0.5, as wide: BICUBIC of Pillow */
    IMAGE_BILINEAR2, /* image_scale: halves, then reads four pixels; used by earlier versions */
    IMAGE_FILTERS
};

/* Their names, in this order: "bilinear", "bicubic", "bilinear2". */
extern const char *const image_filter_names[IMAGE_FILTERS + 1]; /* NULL-terminated */

/* Sets *filter to the one of this name; returns whether there is one. */
bool image_filter_parse(const char *name, enum image_filter *filter);

/* Returns false with an error that names `path` if a size is zero or beyond IMAGE_MAX_SIDE or
 * IMAGE_MAX_PIXELS. */
bool image_check_size(const char *path, size_t width, size_t height, struct error *error);

/* Allocates a black image. Returns false with an error. */
bool image_create(struct image *image, size_t width, size_t height, size_t channels,
                  struct error *error);

/* Allocates a black image with deep samples. Returns false with an error. */
bool image_create_deep(struct image *image, size_t width, size_t height, size_t channels,
                       struct error *error);

/* Rounds deep samples to 8 bits; values beyond 0..255 are clipped. */
bool image_to_bytes(struct image *image, struct error *error);

/* Frees the pixels and resets the image to {0}. */
void image_free(struct image *image);

/* --- in place --- */

/* Resizes the image so that its shorter side has `shorter_side` pixels; keeps the aspect ratio.
 * Resizes like image_scale. */
bool image_fit(struct image *image, size_t shorter_side, struct error *error);

/* Resizes the image to width x height. Halves it (each pixel becomes the mean of four) as long as
 * both sides are at least twice too large, and then resizes it bilinearly. */
bool image_scale(struct image *image, size_t width, size_t height, struct error *error);

/* Resizes the image to width x height. The result of bilinear and bicubic has the bits of Pillow's
 * Image.resize; deep samples are not rounded. */
bool image_resample(struct image *image, size_t width, size_t height, enum image_filter filter,
                    struct error *error);

/* Turns and mirrors the image so that it is upright. `orientation` is that of EXIF: 1 to 8, 1 for
 * an upright image. */
bool image_turn(struct image *image, unsigned orientation, struct error *error);

/* Converts the image to 1 or 3 channels. */
bool image_convert(struct image *image, size_t channels, struct error *error);

/* Keeps the `width` columns on the left of an 8-bit image, which must be at least that wide. */
void image_keep_left(struct image *image, size_t width);

/* --- into a new image `out`; all but image_resize take 8-bit samples only --- */

/* Copies the part of `in` that begins at (x, y). The part must lie inside `in`. */
bool image_cut(struct image *out, const struct image *in, size_t x, size_t y, size_t width,
               size_t height, struct error *error);

/* Places `in` at (left, top) of an image of width x height, into which it must fit. Fills the rest
 * by reflection at the edges of `in`, whose edge pixels are not repeated: c b | a b c | b a. */
bool image_pad_reflected(struct image *out, const struct image *in, size_t left, size_t top,
                         size_t width, size_t height, struct error *error);

/* Resizes bilinearly, from four pixels, with samples at the centres of pixels. */
bool image_resize(struct image *out, const struct image *in, size_t width, size_t height,
                  struct error *error);

/* Returns the luma of ITU-R BT.601, which JPEG uses, too, rounded. */
static inline uint8_t image_grey(unsigned red, unsigned green, unsigned blue)
{
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

#endif
