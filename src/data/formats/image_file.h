/* image_file.h: PNG and JPEG files to pictures in memory, and pictures to PNG files. */
#ifndef TINCA_DATA_FORMATS_IMAGE_FILE_H
#define TINCA_DATA_FORMATS_IMAGE_FILE_H

#include "data/images/image.h"

/* Reads a PNG or JPEG file, told apart by its first bytes and not by its name. Any colour type and
 * depth becomes `channels` (1 or 3) 8-bit channels; transparency is laid over white. Fails with the
 * file's name and the decoder's reason; a truncated file is an error, not a grey picture. */
bool image_file_read(struct image *image, const char *path, size_t channels, struct error *error);

/* The size of a PNG or JPEG file, from its header alone (width and height are filled in; pixels is
 * NULL). False when the header is not that of a picture that image_file_read might read. */
bool image_file_probe(struct image *image, const char *path, struct error *error);

/* What a file's header says about the memory that reading it takes. */
struct image_file_cost {
    uint32_t width, height;
    uint32_t beside; /* KiB besides the decoded picture: of interlaced PNG and progressive JPEG */
    bool shrinks;    /* the decoder makes no more pixels than are needed: JPEG */
};

/* image_file_probe for `channels`; fills `cost`. */
bool image_file_probe_cost(struct image_file_cost *cost, const char *path, size_t channels,
                           struct error *error);

/* Returns the bytes that image_file_read (`shorter_side` 0) or image_file_read_fitted hold at their
 * highest.
 */
uint64_t image_file_decode_bytes(const struct image_file_cost *cost, size_t channels,
                                 size_t shorter_side);

/* image_file_read, then the shorter side resized to `shorter_side`, the shape kept: first halved
 * (each pixel the mean of four) as long as twice the size is left, then bilinear. Large pictures
 * are decoded no larger than needed. */
bool image_file_read_fitted(struct image *image, const char *path, size_t channels,
                            size_t shorter_side, struct error *error);

/* Writes an 8-bit PNG into a run's folder (file.h). */
bool image_file_write_png(const struct image *image, const char *path, struct error *error);

/* Writes an 8-bit PNG to a target that the user named (output_file.h). */
bool image_file_export_png(const struct image *image, const char *path, struct error *error);

#endif
