/* stored.h: a source that keeps all its images in memory as bytes: cifar and idx. Internal to
 * data/. */
#ifndef TINCA_DATA_FORMATS_STORED_H
#define TINCA_DATA_FORMATS_STORED_H

#include "data/images/source.h"

/* One of the files that the images came from. */
struct stored_part {
    char *path;
    size_t first; /* number of its first image */
};

struct stored {
    uint8_t *pixels; /* [images,H,W,C] */
    uint8_t *labels; /* [images] */
    struct stored_part part[8];
    size_t parts;
    const char *const *names; /* built-in class names; NULL: the classes have numbers only */
    char *file_names; /* class names from a file, [classes,STORED_NAME_SIZE]; NULL: no such file */
};

enum { STORED_NAME_SIZE = 64 };

extern const struct source_operations stored_operations;

/* Initialises `source` and returns its state, an empty store; NULL with an error. */
struct stored *stored_create(struct source *source, struct error *error);

#endif
