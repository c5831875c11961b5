/* decode.h: picture files to pixels, one decoder a file. Internal to data/; others use image_read.
 *
 * A decoder reads from an open stream that stands at the file's beginning, and leaves it wherever
 * it was done. It never trusts the file: sizes are checked before anything is allocated, and every
 * complaint of the library that means missing or damaged pixels is an error.
 */
#ifndef TINCA_DATA_DECODE_H
#define TINCA_DATA_DECODE_H

#include "data/image.h"

#include <stdio.h>

/* What is wanted of a file. */
struct decode_request {
    const char *path;        /* for messages */
    size_t channels;         /* 1 or 3 */
    size_t shorter_side;     /* no more pixels than this are needed on the shorter side; 0: all */
    bool header_only;        /* check the header and fill in width and height, decode nothing */
    struct image_cost *cost; /* filled from the header; NULL: not asked for */
};

/* Fills `image`, whose pixels (NULL with header_only) the caller owns. A decoder that can shrink
 * cheaply may, by powers of two and not below request->shorter_side. */
bool decode_png(struct image *image, FILE *stream, const struct decode_request *request,
                struct error *error);
bool decode_jpeg(struct image *image, FILE *stream, const struct decode_request *request,
                 struct error *error);

/* Refuses a size that is zero or beyond IMAGE_MAX_SIDE and IMAGE_MAX_PIXELS. */
bool decode_check_size(const char *path, size_t width, size_t height, struct error *error);

/* Returns by what the sides are divided (1, 2, 4 or 8) so that the shorter one keeps `shorter_side`
 * pixels at least; 0 of these means that all are needed. */
size_t decode_scale(size_t width, size_t height, size_t shorter_side);

/* The luma of ITU-R BT.601, as JPEG has it, rounded. */
static inline uint8_t decode_grey(unsigned red, unsigned green, unsigned blue)
{
    return (uint8_t)((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
}

#endif
