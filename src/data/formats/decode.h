/* decode.h: picture files to pixels, one decoder a file. Internal to data/; others use
 * image_file.h.
 *
 * A decoder reads from an open stream that stands at the file's beginning, and leaves it wherever
 * it was done. It never trusts the file: sizes are checked before anything is allocated, and every
 * complaint of the library that means missing or damaged pixels is an error.
 */
#ifndef TINCA_DATA_FORMATS_DECODE_H
#define TINCA_DATA_FORMATS_DECODE_H

#include "data/formats/image_file.h"
#include "data/images/image.h"

#include <stdio.h>

/* What is wanted of a file. */
struct decode_request {
    const char *path;    /* for messages */
    size_t channels;     /* 1 or 3 */
    size_t shorter_side; /* no more pixels than this are needed on the shorter side; 0: all */
    bool header_only;    /* check the header and fill in width and height, decode nothing */
    struct image_file_cost *cost; /* filled from the header; NULL: not asked for */
};

/* Fills `image`, whose pixels (NULL with header_only) the caller owns. A decoder that can shrink
 * cheaply may, by powers of two and not below request->shorter_side. */
bool decode_png(struct image *image, FILE *stream, const struct decode_request *request,
                struct error *error);
bool decode_jpeg(struct image *image, FILE *stream, const struct decode_request *request,
                 struct error *error);

/* Returns by what the sides are divided (1, 2, 4 or 8) so that the shorter one keeps `shorter_side`
 * pixels at least; 0 of these means that all are needed. */
size_t decode_scale(size_t width, size_t height, size_t shorter_side);

#endif
