/* image.h: one picture in memory, and what is done to it before it becomes numbers. */
#ifndef TINCA_DATA_IMAGE_H
#define TINCA_DATA_IMAGE_H

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

bool image_create(struct image *image, size_t width, size_t height, size_t channels,
                  struct error *error);
void image_free(struct image *image); /* leaves it {0} */

/* Reads a PNG or JPEG file, told apart by its first bytes and not by its name. Any colour type and
 * depth becomes `channels` (1 or 3) 8-bit channels; transparency is laid over white. Fails with the
 * file's name and the decoder's reason; a truncated file is an error, not a grey picture. */
bool image_read(struct image *image, const char *path, size_t channels, struct error *error);

/* The size of a PNG or JPEG file, from its header alone (width and height are filled in; pixels is
 * NULL). False when the header is not that of a picture that image_read might read. */
bool image_probe(struct image *image, const char *path, struct error *error);

/* What a file's header says about the memory that reading it takes. */
struct image_cost {
    uint32_t width, height;
    uint32_t beside; /* KiB besides the decoded picture: of interlaced PNG and progressive JPEG */
    bool shrinks;    /* the decoder makes no more pixels than are needed: JPEG */
};

/* image_probe for `channels`; fills `cost`. */
bool image_probe_cost(struct image_cost *cost, const char *path, size_t channels,
                      struct error *error);

/* Returns the bytes that image_read (`shorter_side` 0) or image_read_fitted hold at their highest.
 */
uint64_t image_reading_bytes(const struct image_cost *cost, size_t channels, size_t shorter_side);

/* image_read, then the shorter side resized to `shorter_side`, the shape kept: first halved (each
 * pixel the mean of four) as long as twice the size is left, then bilinear. Large pictures are
 * decoded no larger than needed. */
bool image_read_fitted(struct image *image, const char *path, size_t channels, size_t shorter_side,
                       struct error *error);

/* The same for an image in memory, in place. */
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

/* Writes an 8-bit PNG into a run's folder (file.h). */
bool image_write_png(const struct image *image, const char *path, struct error *error);

/* Writes an 8-bit PNG to a target that the user named (output_file.h). */
bool image_export_png(const struct image *image, const char *path, struct error *error);

#endif
