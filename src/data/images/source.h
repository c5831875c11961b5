/* source.h: the interface that each kind of data set implements for dataset.c. Internal to data/.
 *
 * A source numbers its images from 0 and delivers each of them as it is stored, with its label.
 * dataset.c does what all kinds have in common: the options `only`, `limit` and `classes`, and the
 * fit to the network's input. A source does not change after it was opened, so several threads may
 * call `read` at once.
 */
#ifndef TINCA_DATA_IMAGES_SOURCE_H
#define TINCA_DATA_IMAGES_SOURCE_H

#include "data/images/broken.h"
#include "data/images/image.h"
#include "data/images/preprocessing.h"
#include "data/images/spec.h"

/* The ways to bring a stored image to the size of the network's input. */
enum source_fit {
    SOURCE_FIXED, /* not at all: a network with another input size is refused */
    SOURCE_CROP,  /* the shorter side is resized, then a window is cropped */
    SOURCE_PAIR,  /* input and target image are both resized; training crops the same window */
};

/* The form in which the caller needs the images. A source of files turns and resizes a picture as
 * it decodes it. */
struct source_request {
    size_t channels;
    const struct preprocessing *preprocessing;
};

struct source;

/* Is called with bytes of an image as they are stored. */
typedef void source_bytes_watch(void *context, const void *bytes, size_t count);

struct source_operations {
    /* Returns the label of an image. */
    size_t (*label)(const struct source *source, size_t index);
    /* Returns the name of a class, or NULL if it has none. */
    const char *(*class_name)(const struct source *source, size_t label);
    /* Writes where an image comes from, such as the path of its file. */
    void (*origin)(const struct source *source, size_t index, char *text, size_t size);
    /* Reads an image; `target` is NULL unless the source is paired. The caller owns both. */
    bool (*read)(const struct source *source, size_t index, const struct source_request *request,
                 struct image *image, struct image *target, struct error *error);
    /* Frees `state`. */
    void (*close)(struct source *source);
    /* Returns the peak memory of `read` in bytes, for the most demanding image. NULL: no more
     * than the image itself. */
    uint64_t (*decode_bytes)(const struct source *source, const struct source_request *request);
    /* Calls `watch` with the bytes of an image, for its checksum. NULL unless source->file. */
    void (*bytes)(const struct source *source, size_t index, source_bytes_watch *watch,
                  void *context);
};

struct source {
    const struct source_operations *operations;
    void *state;
    size_t images;
    size_t classes; /* size of the label space */
    enum source_fit fit;
    size_t channels, height, width; /* SOURCE_FIXED: of every image; else the default input size */
    bool deep;      /* some images are deep: all of them, or 16-bit pictures that are read with one
                       channel */
    bool flips;     /* a mirror image is a valid example of its class */
    bool skips;     /* an unreadable image is replaced by another, not an error */
    bool quick;     /* reading an image only copies it */
    size_t skipped; /* unreadable files that were left out when it was opened */
    const struct broken_list *broken; /* their names; belongs to `state`; NULL: there are none */
    const char *file; /* the one file that all images are in, if `bytes` has their checksums */
    const char *root; /* folder below which each image is a file; NULL if images are not files */
};

/* Opens a source. Returns false with an error and leaves nothing to close. */
typedef bool source_open(struct source *source, const struct spec *spec, struct error *error);

source_open cifar10_open, cifar100_open, idx_open, folder_open, pairs_open;
source_open list_open, npy_open, npz_open;
source_open shapes_open, digits_open, tench_open, maps_open;

/* The classes of CIFAR-10, unless a file of the set gives other names. */
extern const char *const cifar10_class_names[10];

/* Returns the bytes that an opened source keeps in memory, from the sizes of its files. */
typedef uint64_t source_bytes(const struct spec *spec);

source_bytes cifar10_bytes, cifar100_bytes, idx_bytes, arrays_bytes;

/* Returns the number of classes that a source will have, from its labels or the names of its
 * folders, without looking into its pictures; 0: not known. */
typedef size_t source_classes(const struct spec *spec);

source_classes folder_classes, list_classes, arrays_classes, idx_classes;

/* The implementation of a kind of data set. */
struct source_kind {
    source_open *open;
    source_bytes *bytes;     /* NULL: the source keeps no images in memory */
    source_classes *classes; /* NULL: as its kind says */
};

#endif
