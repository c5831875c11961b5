/* image_file.h: reads PNG and JPEG files, and writes PNG files. */
#ifndef TINCA_DATA_FORMATS_IMAGE_FILE_H
#define TINCA_DATA_FORMATS_IMAGE_FILE_H

#include "data/images/image.h"

/* Reads a PNG or JPEG file, recognised by its first bytes and not by its name. Every colour type
 * and depth becomes `channels` (1 or 3) channels of 8 bits; transparent pixels are blended with
 * white. Returns false with the decoder's reason; a truncated file is an error. */
bool image_file_read(struct image *image, const char *path, size_t channels, struct error *error);

/* Sets width and height of `image` from the header of a file; pixels is NULL. Returns false if the
 * header is not that of a readable picture. */
bool image_file_probe(struct image *image, const char *path, struct error *error);

/* The memory that reading a file takes, as far as its header tells. */
struct image_file_cost {
    uint32_t width, height;
    uint32_t extra_kib; /* besides the decoded picture, for interlaced PNG and progressive JPEG */
    bool deep;          /* 16 bits a sample, which networks of one channel keep */
    bool shrinks;       /* the decoder can shrink the picture: JPEG */
};

/* Fills `cost` from the header of a file that will be read with `channels` channels. */
bool image_file_probe_cost(struct image_file_cost *cost, const char *path, size_t channels,
                           struct error *error);

/* Returns the most bytes that image_file_read (`shorter_side` 0) or image_file_read_fitted hold at
 * once. */
uint64_t image_file_decode_bytes(const struct image_file_cost *cost, size_t channels,
                                 size_t shorter_side);

/* Reads a file like image_file_read and resizes it like image_fit. Decodes large pictures no larger
 * than needed; `shorter_side` 0 leaves the size as it is. With one channel a 16-bit PNG keeps its
 * precision: its samples are deep. */
bool image_file_read_fitted(struct image *image, const char *path, size_t channels,
                            size_t shorter_side, struct error *error);

/* Writes an 8-bit PNG into a run's folder (base/files/file.h). */
bool image_file_write_png(const struct image *image, const char *path, struct error *error);

/* Returns an 8-bit PNG of *size bytes, owned by the caller, or NULL with an error. */
void *image_file_encode_png(const struct image *image, size_t *size, struct error *error);

/* Writes an 8-bit PNG to a target that the user named (base/files/output_file.h). */
bool image_file_export_png(const struct image *image, const char *path, struct error *error);

#endif
