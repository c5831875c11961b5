/* dataset.h: a data set as a numbered list of labelled images.
 *
 * A set is named by a SPEC: `cifar10:DIR`, `cifar100:DIR`, `idx:DIR`, `folder:DIR`, `pairs:DIR`, or
 * a generated one (`shapes`, `digits`, `tench`, `maps`), then options after commas: `split=train|
 * test`, `limit=N`, `only=CLASS`, `classes=N`. An opened set is constant: any number of threads may
 * read images at the same time.
 */
#ifndef TINCA_DATA_DATASET_DATASET_H
#define TINCA_DATA_DATASET_DATASET_H

#include "base/error.h"
#include "data/images/image.h"

#include <stddef.h>
#include <stdint.h>

struct dataset;

/* The image that a network wants. A set of fixed size (cifar, idx, shapes, digits) refuses any
 * other; folders, pairs and the large generated sets resize and crop to it. */
struct dataset_request {
    size_t channels, height, width;
};

struct dataset_facts {
    char spec[512];                 /* as given */
    const char *kind;               /* "cifar10", "folder", "shapes", ... */
    size_t images;                  /* after limit and only */
    size_t classes;                 /* of the label space: option classes, else what the set has */
    size_t channels, height, width; /* of one training example, after cropping */
    size_t stored_height, stored_width; /* of the stored image that crops are cut from */
    bool paired;                        /* every example has a target image instead of a label */
    bool reversed;                      /* direction=ba: the right half of a pair is the input */
    size_t skipped;                     /* unreadable files left out, folders only */
    size_t generator;      /* of a generated set: GENERATOR_VERSION; 0: it comes from files */
    uint64_t decode_bytes; /* that a reader holds at its highest, of pictures that it decodes */
};

/* Opens a set. `default_split` ("train" or "test") holds where SPEC names none. Decodes nothing
 * that can wait; a folder is scanned, and each file's header checked, here. */
struct dataset *dataset_open(const char *spec, const char *default_split,
                             const struct dataset_request *wish, struct error *error);
void dataset_free(struct dataset *dataset);

const struct dataset_facts *dataset_facts(const struct dataset *dataset);
const char *dataset_class_name(const struct dataset *dataset, size_t label); /* never NULL */
size_t dataset_label(const struct dataset *dataset, size_t index);
/* Where image `index` comes from: a file name, or "record N of data_batch_1.bin". */
void dataset_origin(const struct dataset *dataset, size_t index, char *text, size_t size);

/* The stored image (before crop and augmentation), decoded; `target` only for paired sets, else
 * NULL. Both are owned by the caller. Thread safe. */
bool dataset_image(const struct dataset *dataset, size_t index, struct image *image,
                   struct image *target, struct error *error);

/* What a person is offered: one row a kind of set. */
struct dataset_kind {
    const char *name;               /* "cifar10" */
    const char *argument;           /* "DIR", or "" when the set is built in */
    const char *description;        /* one sentence */
    size_t classes;                 /* 0: depends on the folder */
    size_t channels, height, width; /* 0: fits the network */
    bool stored;                    /* the images lie in memory, as bytes */
};
const struct dataset_kind *dataset_kinds(size_t *count);

/* Of a SPEC, which begins with the kind's name; NULL: there is none of this name. */
const struct dataset_kind *dataset_kind_of(const char *spec);

/* Bytes that a set will hold once it is opened, by the sizes of its files; 0 where images are read
 * or made when they are wanted, and where it could not be opened. */
uint64_t dataset_bytes(const char *spec, const char *default_split);

/* Per-channel affine map from 8-bit samples to numbers: (sample - mean) / deviation. */
struct normalisation {
    char name[16];               /* "caffe", "unit", "signed", "cifar10", "cifar100", "measured" */
    float mean[3], deviation[3]; /* in 0..255 units; a grey image uses the first */
};

/* A preset by name: unit (sample / 256, Caffe's LeNet), signed (-1..1, pix2pix), caffe (mean
 * 123, 117, 104 RGB subtracted, not scaled), cifar10, cifar100, imagenet (the usual per-channel
 * figures). `measured` takes mean and deviation from up to 10,000 images of the set, in index
 * order.
 */
bool normalisation_choose(struct normalisation *normalisation, const char *name,
                          const struct dataset *dataset, struct error *error);

#endif
