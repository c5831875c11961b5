/* dataset.h: a data set as a numbered list of labelled images.
 *
 * A SPEC names a set: `cifar10:DIR`, `cifar100:DIR`, `idx:DIR`, `folder:DIR`, `list:FILE`,
 * `npy:FILE`, `npz:FILE`, `pairs:DIR`, or a generated one (`shapes`, `digits`, `tench`, `maps`);
 * options follow after commas: `split=train|test`, `limit=N` (the first N), `sample=N` (N evenly
 * over the classes), `only=CLASS`, `classes=N`, `share=F` (this part of each class, drawn by the
 * seed `draw=N`) or `rest=F` (all but that part), `filter=NAME` and `orient=yes|no`
 * (preprocessing.h). Values with commas are quoted (spec_value.h). An opened set does not change,
 * so any number of threads may read images at the same time.
 */
#ifndef TINCA_DATA_DATASET_DATASET_H
#define TINCA_DATA_DATASET_DATASET_H

#include "base/error.h"
#include "data/images/broken.h"
#include "data/images/image.h"
#include "data/images/preprocessing.h"

#include <stddef.h>
#include <stdint.h>

struct dataset;

/* The input shape of a network. Sets of fixed size (cifar, idx, shapes, digits) accept their own
 * shape only; folders, pairs and the large generated sets resize and crop their images to it. */
struct dataset_request {
    size_t channels, height, width;
};

struct dataset_facts {
    char spec[640];          /* as given */
    const char *kind;        /* "cifar10", "folder", "shapes", ... */
    size_t images;           /* after the options `limit`, `sample` and `only` */
    size_t classes_left_out; /* classes whose images `limit` has all left out */
    size_t classes;     /* size of the label space: option `classes`, or as many as the set has */
    size_t classes_own; /* classes of the set itself; the option `classes` adds further ones */
    bool renumbered;    /* dataset_number_classes has given the classes other numbers */
    size_t channels, height, width;     /* shape of one training example, after cropping */
    size_t stored_height, stored_width; /* size of the image that crops are taken from */
    bool paired;                        /* every example has a target image instead of a label */
    bool deep;                          /* some images have more than 8 bits a sample (image.h) */
    bool reversed;                      /* direction=ba: the right half of a pair is the input */
    size_t skipped;                     /* unreadable files that were left out */
    const struct broken_list *broken;   /* their names; lives as long as the set; NULL: none */
    double share;                       /* the option `share` or `rest`; 0: neither */
    bool share_rest;                    /* all images but that share */
    uint64_t share_seed;                /* the seed that chose them */
    size_t generator;      /* GENERATOR_VERSION of a generated set; 0: the set comes from files */
    uint64_t decode_bytes; /* peak memory in bytes of decoding an image */
    uint64_t draw;         /* the option `draw`, the seed of all random choices, or 1 */
    /* The steps by which pictures become examples, without the normalisation; fixed: there are
     * none, since images are as they are stored. */
    struct preprocessing preprocessing;
    bool fixed;
};

/* Opens a set. `default_split` ("train" or "test") applies if SPEC names no split; `request` is
 * NULL for the set's default shape. Decodes no image of a folder, but checks the header of each
 * file. Returns NULL with an error. */
struct dataset *dataset_open(const char *spec, const char *default_split,
                             const struct dataset_request *request, struct error *error);

/* Does the same for a model: prepares pictures by `preprocessing`, unless SPEC has the options
 * `filter` and `orient`. If it is NULL or not recorded, the size before the crop is the usual one
 * for the kind; if it is NULL, pictures are upright and resized with the filter bilinear. */
struct dataset *dataset_open_as(const char *spec, const char *default_split,
                                const struct dataset_request *request,
                                const struct preprocessing *preprocessing, struct error *error);
void dataset_free(struct dataset *dataset);

/* Returns the properties of the set, which belong to it. */
const struct dataset_facts *dataset_facts(const struct dataset *dataset);

/* The number of images of each class. */
struct dataset_balance {
    size_t *images;                     /* [classes]; free() it */
    size_t classes, most, least, empty; /* empty: classes without an image */
};

/* Counts the images of each class; a set of pairs has none. Returns false with an error if out of
 * memory. */
bool dataset_count_classes(const struct dataset *dataset, struct dataset_balance *balance,
                           struct error *error);

/* Returns the name of a class, never NULL. */
const char *dataset_class_name(const struct dataset *dataset, size_t label);

/* Gives the classes other numbers: class `i` becomes numbers[i], of which there are as many as
 * classes, each number once. Call it before other threads read the set. Returns false with an
 * error, and changes nothing, if out of memory. */
bool dataset_number_classes(struct dataset *dataset, const size_t *numbers, struct error *error);

/* Returns the label of image `index`. */
size_t dataset_label(const struct dataset *dataset, size_t index);

/* Writes where image `index` comes from: a path, or "record N of data_batch_1.bin". */
void dataset_origin(const struct dataset *dataset, size_t index, char *text, size_t size);

/* Decodes image `index` as it is before cropping and augmentation, and for a paired set also its
 * target; pass NULL as `target` otherwise. The caller owns both. Returns false with an error.
 * Thread-safe. */
bool dataset_image(const struct dataset *dataset, size_t index, struct image *image,
                   struct image *target, struct error *error);

/* A kind of data set, as menus and usage messages list it. The table is in dataset.c. */
struct source_kind;
struct dataset_kind {
    const char *name;                 /* "cifar10" */
    const char *argument;             /* "DIR", "FILE", or "" for a generated set */
    const char *description;          /* one sentence */
    size_t classes;                   /* 0: depends on the files */
    const char *const *class_names;   /* `classes` names; NULL: they depend on the files */
    size_t channels, height, width;   /* 0: as the network's input */
    bool stored;                      /* all images are held in memory as raw bytes */
    const struct source_kind *source; /* its implementation, internal to data/ */
};

/* Returns the array of all kinds and sets *count. */
const struct dataset_kind *dataset_kinds(size_t *count);

/* Returns the kind that a SPEC begins with, or NULL if there is no such kind. */
const struct dataset_kind *dataset_kind_of(const char *spec);

/* Returns whether some images of a set of this kind may have more than 8 bits a sample, in a
 * network with `channels` input channels (dataset_facts.deep). */
bool dataset_kind_may_be_deep(const struct dataset_kind *kind, size_t channels);

/* Returns whether sets of a kind have the option of this name (spec_options). */
bool dataset_kind_has_option(const struct dataset_kind *kind, const char *option);

/* Returns the bytes that a set will keep in memory, from the sizes of its files; 0 if it reads or
 * generates each image on demand, or cannot be opened. */
uint64_t dataset_bytes(const char *spec, const char *default_split);

/* Returns the number of classes that a set will have, by the option `classes`, its labels, the
 * names of its folders or its kind, without opening it; 0: it has none, or cannot be read. */
size_t dataset_expected_classes(const char *spec, const char *default_split);

/* Fills a normalisation by name: unit (0..1, sample / 255), unit256 (sample / 256, Caffe's LeNet),
 * signed (-1..1, pix2pix), caffe (the mean 123, 117, 104 RGB is subtracted, without scaling),
 * cifar10, cifar100, imagenet (the customary per-channel figures). "measured" computes mean and
 * deviation of all images of `dataset`, or of 10,000 that its seed `draw` draws if there are more
 * and they are not in memory. If the set is prepared by bilinear2 without a record, unit means
 * unit256, and the first 10,000 images are measured. Returns false with an error. */
bool normalisation_choose(struct normalisation *normalisation, const char *name,
                          const struct dataset *dataset, struct error *error);

/* Does the same for a name other than "measured". If `recorded` is false, the model does not record
 * its preprocessing, and unit means unit256. */
bool normalisation_preset(struct normalisation *normalisation, const char *name, bool recorded,
                          struct error *error);

/* Returns the preprocessing of a model that is trained on the set with this normalisation, which
 * was chosen for it. */
struct preprocessing preprocessing_of(const struct dataset *dataset,
                                      const struct normalisation *normalisation);

#endif
