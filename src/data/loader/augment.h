/* augment.h: which part of a stored image becomes an example, and its samples as numbers. */
#ifndef TINCA_DATA_LOADER_AUGMENT_H
#define TINCA_DATA_LOADER_AUGMENT_H

#include "data/dataset/dataset.h"

/* A window of an image. It may begin `pad` pixels outside: what lies outside is black. */
struct crop {
    ptrdiff_t x, y;
    size_t width, height;
    bool flip; /* left to right */
};

/* The middle of `image`. */
struct crop crop_centre(const struct image *image, size_t width, size_t height);

/* Whether and how a training image is changed at random. */
struct crop_draw {
    bool augment; /* else the middle is taken */
    size_t pad;
    uint64_t seed, epoch;
};

/* The window of image `index` that is trained on, as every feed cuts it. */
struct crop crop_for_training(const struct dataset *dataset, const struct image *image,
                              const struct crop_draw *draw, size_t index);

/* The window as a picture, owned by the caller. */
bool crop_cut(struct image *out, const struct image *image, const struct crop *crop,
              struct error *error);

/* A normalisation worked out for every value that a sample can have. */
struct sample_table {
    float value[3][256];
};

void sample_table_fill(struct sample_table *table, const struct normalisation *normalisation);

/* Writes the window as [C,H,W] with C the channels of the image. */
void crop_write(float *out, const struct image *image, const struct crop *crop,
                const struct sample_table *table);

#endif
