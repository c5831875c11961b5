/* source.h: what each kind of data set must offer to dataset.c. Internal to data/.
 *
 * A source numbers its images and gives each as it is stored, with the labels of its own classes.
 * Everything that sets have in common (only, limit, classes, the fit to what a network wants) is
 * dataset.c's. A source is constant once opened: `read` is called by several threads at once.
 */
#ifndef TINCA_DATA_IMAGES_SOURCE_H
#define TINCA_DATA_IMAGES_SOURCE_H

#include "data/images/image.h"
#include "data/images/spec.h"

/* How a stored image comes to the size that a network wants. */
enum source_fit {
    SOURCE_FIXED, /* not at all: another wish is refused */
    SOURCE_CROP,  /* the shorter side is resized, then a part is cut out */
    SOURCE_PAIR,  /* two registered images, both resized; a part is cut out in training */
};

/* What is wanted of one image. `shorter_side` 0: as stored; else no more is needed, and a source
 * that can save work by giving less may. */
struct source_request {
    size_t channels, shorter_side;
};

struct source;

struct source_operations {
    size_t (*label)(const struct source *source, size_t index);
    /* NULL when the class has no name of its own. */
    const char *(*class_name)(const struct source *source, size_t label);
    void (*origin)(const struct source *source, size_t index, char *text, size_t size);
    /* `target` is NULL unless the source is paired. */
    bool (*read)(const struct source *source, size_t index, const struct source_request *wish,
                 struct image *image, struct image *target, struct error *error);
    void (*close)(struct source *source); /* frees what `state` holds */
    /* Bytes that `read` holds at its highest, of the image that takes most; NULL: an image's own.
     */
    uint64_t (*decode_bytes)(const struct source *source, const struct source_request *wish);
};

struct source {
    const struct source_operations *operations;
    void *state;
    size_t images;
    size_t classes; /* of the label space */
    enum source_fit fit;
    size_t channels, height, width; /* SOURCE_FIXED: as stored; else what is taken by default */
    bool flips;                     /* a mirror image is as good as the original */
    bool skips;                     /* an unreadable image is replaced, not an error */
    bool quick;                     /* an image costs a copy only */
    size_t skipped;                 /* unreadable files left out at opening */
    const char *root; /* the folder below which each image is a file; NULL: it is not so */
};

/* Opens a source. On failure nothing is left to close. */
typedef bool source_open(struct source *source, const struct spec *spec, struct error *error);

source_open cifar10_open, cifar100_open, idx_open, folder_open, pairs_open;
source_open shapes_open, digits_open, tench_open, maps_open;

/* Bytes of the files whose images lie in memory once they are opened. */
typedef uint64_t source_bytes(const struct spec *spec);

source_bytes cifar10_bytes, cifar100_bytes, idx_bytes;

#endif
