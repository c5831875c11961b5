/* stored.h: a source whose images lie in memory as bytes: cifar and idx. Internal to data/. */
#ifndef TINCA_DATA_FORMATS_STORED_H
#define TINCA_DATA_FORMATS_STORED_H

#include "data/images/source.h"

/* One of the files that the images came from. */
struct stored_part {
    char *path;
    size_t first; /* number of its first image */
};

struct stored {
    uint8_t *pixels; /* interleaved, image after image */
    uint8_t *labels; /* one a image */
    struct stored_part part[8];
    size_t parts;
    const char *const *names; /* of the classes; NULL: their numbers */
    char *own_names;          /* classes x STORED_NAME_SIZE, from a file; NULL: none */
};

enum { STORED_NAME_SIZE = 64 };

extern const struct source_operations stored_operations;

/* Gives `source` an empty store as its state. */
struct stored *stored_create(struct source *source, struct error *error);

#endif
