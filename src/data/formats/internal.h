/* internal.h: the decoders of picture files, and the sources that consist of such files. */
#ifndef TINCA_DATA_FORMATS_INTERNAL_H
#define TINCA_DATA_FORMATS_INTERNAL_H

#include "data/formats/image_file.h"
#include "data/formats/scan.h"
#include "data/images/image.h"
#include "data/images/source.h"

#include <stdio.h>

/* --- decoding picture files, with one decoder for each format ---
 *
 * A decoder reads from an open stream at the beginning of the file. It does not trust the file: it
 * checks sizes before it allocates, and treats every warning of the library that means missing or
 * damaged pixels as an error. */

/* The request to a decoder. */
struct decode_request {
    const char *path;    /* for messages */
    size_t channels;     /* 1 or 3 */
    size_t shorter_side; /* pixels needed on the shorter side; 0: full size */
    bool upright;        /* the picture is turned as its EXIF data say (image_file.c) */
    /* Grey is computed as in earlier versions: in a JPEG file in colours, it is the luma; in a PNG
     * file, the grey of the colour before it is blended with white. */
    bool luma;
    bool deep;                    /* a 16-bit picture gives deep samples; else 8-bit ones */
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

/* --- sources of picture files with labels: folder and list ---
 *
 * A file whose header cannot be read is left out and named, or is an error with broken=refuse. If a
 * file turns out to be unreadable later, the data loader replaces its image. */

struct picture {
    char *name;
    uint32_t label;
    struct image_file_cost cost;
};

struct pictures {
    char *root;
    struct name_list classes; /* by label; empty: there is one class, `only_name` */
    char *only_name;
    bool in_folders; /* a picture is root/CLASS/NAME, else root/NAME, or NAME if that is absolute */
    struct picture *item; /* source->images of them */
    size_t capacity;
    struct broken_list broken;
};

/* Initialises the source with an empty list; `spec` says whether broken pictures are skipped.
 * Returns its state, or NULL with an error. */
struct pictures *pictures_create(struct source *source, const struct spec *spec,
                                 struct error *error);

/* Checks the header of a picture, and adds it or names it as broken. */
bool pictures_add(struct source *source, const char *name, uint32_t label, struct error *error);

/* Frees the state. */
void pictures_close(struct source *source);

#endif
