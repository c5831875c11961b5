/* decode.h: decodes picture files, with one decoder for each format. Internal to data/; other
 * modules use image_file.h.
 *
 * A decoder reads from an open stream at the beginning of the file. It does not trust the file: it
 * checks sizes before it allocates, and treats every warning of the library that means missing or
 * damaged pixels as an error.
 */
#ifndef TINCA_DATA_FORMATS_DECODE_H
#define TINCA_DATA_FORMATS_DECODE_H

#include "data/formats/image_file.h"
#include "data/images/image.h"

#include <stdio.h>

/* The request to a decoder. */
struct decode_request {
    const char *path;    /* for messages */
    size_t channels;     /* 1 or 3 */
    size_t shorter_side; /* pixels needed on the shorter side; 0: full size */
    bool upright;        /* the picture is turned as its EXIF data say (image_file.c) */
    /* Grey is that of earlier versions: the luma of a JPEG file in colours; in a PNG file the grey
     * of a transparent colour, not of what it becomes over white. */
    bool luma;
    bool deep;                    /* a 16-bit picture gives deep samples; else it becomes 8-bit */
    bool header_only;             /* check the header and set width and height; decode nothing */
    struct image_file_cost *cost; /* filled from the header; NULL if not needed */
};

/* Decode a file into `image`, which the caller owns. A decoder that can shrink the picture cheaply
 * does so, by a power of two, but not below request->shorter_side. Return false with an error. */
bool decode_png(struct image *image, FILE *stream, const struct decode_request *request,
                struct error *error);
bool decode_jpeg(struct image *image, FILE *stream, const struct decode_request *request,
                 struct error *error);

/* Returns the divisor of the sides (1, 2, 4 or 8) that leaves at least `shorter_side` pixels on the
 * shorter side; 1 if `shorter_side` is 0. */
size_t decode_scale(size_t width, size_t height, size_t shorter_side);

#endif
