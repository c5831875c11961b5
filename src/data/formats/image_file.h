/* image_file.h: reads PNG and JPEG files, and writes PNG files. */
#ifndef TINCA_DATA_FORMATS_IMAGE_FILE_H
#define TINCA_DATA_FORMATS_IMAGE_FILE_H

#include "data/images/preprocessing.h"

/* Reads a PNG or JPEG file, recognised by its first bytes and not by its name, as it is stored: not
 * turned as its EXIF data say. Every colour type and depth becomes `channels` (1 or 3) channels of
 * 8 bits; transparent pixels are blended with white. Returns false with the decoder's reason; a
 * truncated file is an error. */
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
    bool turned;        /* EXIF data say that it is not stored upright */
};

/* Fills `cost` from the header of a file that will be read with `channels` channels. */
bool image_file_probe_cost(struct image_file_cost *cost, const char *path, size_t channels,
                           struct error *error);

/* Returns the largest number of bytes that image_file_read (`preprocessing` NULL) or
 * image_file_prepare hold at once. */
uint64_t image_file_decode_bytes(const struct image_file_cost *cost, size_t channels,
                                 const struct preprocessing *preprocessing);

/* Returns the samples per channel that are held at once when a picture of width x height is resized
 * to new_width x new_height. */
double image_file_resized_samples(double width, double height, double new_width, double new_height,
                                  enum image_filter filter);

/* Reads a file like image_file_read, turned and made grey as `preprocessing` says, but not resized.
 */
bool image_file_read_as(struct image *image, const char *path, size_t channels,
                        const struct preprocessing *preprocessing, struct error *error);

/* Reads a file, turned and resized as `preprocessing` says, but not cropped. With one channel a
 * 16-bit PNG keeps its precision: its samples are deep. For bilinear2, large JPEG files are decoded
 * no larger than needed. */
bool image_file_prepare(struct image *image, const char *path,
                        const struct preprocessing *preprocessing, struct error *error);

/* Writes an 8-bit PNG into a run's folder (base/files/file.h). */
bool image_file_write_png(const struct image *image, const char *path, struct error *error);

/* Returns an 8-bit PNG of *size bytes, owned by the caller, or NULL with an error. */
void *image_file_encode_png(const struct image *image, size_t *size, struct error *error);

/* Writes an 8-bit PNG to a target that the user named (base/files/output_file.h). */
bool image_file_export_png(const struct image *image, const char *path, struct error *error);

#endif
