/* data_loader.h: batches of a data set, decoded and augmented ahead of time by worker threads.
 *
 * A data loader walks its data set epoch after epoch. Decode workers fill a prefetch queue, which
 * is a ring of batches that is allocated once; one consumer takes them with data_loader_next.
 *
 * - Training: an epoch reads the images in a random order and has floor(images / batch) full
 *   batches. The order depends on (seed, epoch) alone; the augmentation of an image depends on
 *   (seed, epoch, image) alone, and with balanced sampling, which draws images with replacement
 *   (epoch_order.h), on (seed, epoch, position). So neither the number of workers nor stopping and
 * resuming changes a batch.
 * - Evaluation: an epoch reads the images in the order of the set, cropped at the centre. The last
 *   batch may be short. The workers read an epoch only after its first batch is asked for.
 *
 * Thread safety: one thread at a time may call data_loader_next, _pause and _continue.
 */
#ifndef TINCA_DATA_LOADER_DATA_LOADER_H
#define TINCA_DATA_LOADER_DATA_LOADER_H

#include "base/error.h"
#include "data/dataset/dataset.h"
#include "data/loader/augmentation.h"

#include <stddef.h>
#include <stdint.h>

struct data_loader;

/* The memory that batches lie in, which their consumer provides. A device with separate memory can
 * read a batch without a copy, while the consumer does something else. All zeros: the host's
 * ordinary memory. */
struct batch_memory {
    void *owner; /* is passed to the functions, which are called in the consumer's thread */
    /* Returns memory that is aligned to MEMORY_ALIGNMENT, or NULL with an error about `what`. */
    void *(*allocate)(void *owner, size_t bytes, const char *what, struct error *error);
    void (*release)(void *owner, void *memory); /* `memory` may be NULL */
    /* Waits until every batch that the owner was given has been read. The loader calls it before it
     * overwrites or frees one. */
    void (*await)(void *owner);
};

struct data_loader_settings {
    size_t batch;  /* images in a batch */
    bool training; /* true: shuffled, full batches, endless; false: evaluation */
    bool balanced; /* training: each class is equally likely, whatever its number of images */
    struct augmentation augmentation; /* training: as augmentation_for returns it */
    uint64_t seed;
    struct normalisation normalisation;
    struct batch_memory memory;
    bool samples; /* the consumer takes batches of samples, where the loader can have them */
    bool strict;  /* an unreadable image is an error, also in a set that skips such images */
    /* Training: the consumer wants only part number `part` of `parts` equal parts of each batch;
     * `parts` divides the batch. The batches are otherwise the same: the images and their
     * augmentation do not depend on it. With mixup or cutmix the loader also reads the partners of
     * these images, which may be in another part. Evaluation: the consumer wants only every
     * `parts`-th batch, beginning with that of number `part`, which must exist; these batches are
     * an epoch. 0 parts: all. */
    size_t parts, part;
    size_t threads;                    /* decode workers; 0: as many as suit the data set */
    uint64_t first_epoch, first_batch; /* where to begin: not 0 when a run is resumed */
};

/* A batch that the consumer may read until its next call of data_loader_next. */
struct data_batch {
    const float *images;   /* [count,C,H,W], normalised; NULL: image_samples */
    const int32_t *labels; /* [count]; NULL for a paired set */
    /* With mixup or cutmix: the label of each image's partner, and the share of its own label;
     * NULL: images are not mixed. */
    const int32_t *partner_labels;
    const float *shares;
    const float *targets; /* [count,C,H,W] of a paired set, else NULL */
    /* With settings.samples, if data_loader_has_samples: images and targets as 8-bit samples, of
     * the same shapes. The consumer normalises them: (sample - mean) / deviation in float32. */
    const uint8_t *image_samples, *target_samples;
    const uint32_t *indices; /* [count]: the number of each image in the data set */
    size_t count;            /* images; settings.batch, or a part of it, except in the last batch of
                                an evaluation */
    uint64_t epoch, number;  /* the epoch, and this batch's number within it; both from 0 */
    bool last;               /* this is the last batch of its epoch */
};

/* Returns a loader with its workers started, or NULL with an error. Allocates the whole prefetch
 * queue; nothing is allocated for it later. `dataset` must outlive the loader. */
struct data_loader *data_loader_open(const struct dataset *dataset,
                                     const struct data_loader_settings *settings,
                                     struct error *error);

/* Stops the workers and frees the loader. NULL is allowed. */
void data_loader_free(struct data_loader *loader);

/* Fills *batch with the next batch and waits for it if necessary; the batch before it becomes
 * invalid. After a batch with `last` set, the next call begins the next epoch. Returns false if an
 * image cannot be read and the data set does not skip such images, or settings.strict; the error
 * names the file. */
bool data_loader_next(struct data_loader *loader, struct data_batch *batch, struct error *error);

/* Pauses the workers; returns once none of them is decoding an image. Pause one loader while
 * another reads, so that only one of them takes memory for decoding. Batches that are ready stay
 * ready. Do not call data_loader_next on a paused loader. */
void data_loader_pause(struct data_loader *loader);

/* Lets the workers of a paused loader continue. */
void data_loader_continue(struct data_loader *loader);

struct data_loader_statistics {
    double waited_seconds; /* time that the consumer has waited in data_loader_next, in all */
    size_t ready;          /* batches in the queue that are complete and not taken */
    uint64_t skipped; /* unreadable images so far; each was replaced by the next readable one */
    uint64_t bytes;   /* size of the prefetch queue */
};

/* Fills *statistics. Thread-safe. */
void data_loader_statistics(const struct data_loader *loader,
                            struct data_loader_statistics *statistics);

/* Writes the names of the unreadable images that the workers met, with the reasons, as far as there
 * is room (broken.h). Returns `text`. Thread-safe. */
char *data_loader_broken(struct data_loader *loader, char *text, size_t size);

/* Returns whether the batches of a loader with these settings are of 8-bit samples: the consumer
 * takes them, the set has no picture with more bits, and augmentation only cuts windows and mirrors
 * them. */
bool data_loader_has_samples(const struct dataset *dataset,
                             const struct data_loader_settings *settings);

/* Returns the number of batches in an epoch that the consumer wants. */
size_t data_loader_batches_per_epoch(const struct data_loader *loader);

/* Returns how many workers a loader with these settings starts. `stored`: the images of the set are
 * in memory, undecoded (dataset_kind.stored). While it decodes, each worker holds up to
 * dataset_facts.decode_bytes. */
size_t data_loader_worker_count(const struct data_loader_settings *settings, bool stored);

/* Returns the bytes that a loader's queue and threads take for a set of `images` images (SIZE_MAX
 * if unknown) of `values` numbers each. `paired`: each image has a target image. With
 * settings.samples, batches are taken to be of 8-bit samples. */
uint64_t data_loader_bytes(const struct data_loader_settings *settings, size_t images,
                           size_t values, bool paired, bool stored);

/* Reads one image without a loader. Writes it to `image`, and the target of a paired set to
 * `target`, both [C,H,W] of the set's facts, bit for bit as an evaluation's loader would. Returns
 * false with an error if the image does not exist or cannot be read. Thread-safe. */
bool data_loader_read_example(const struct dataset *dataset,
                              const struct normalisation *normalisation, size_t index, float *image,
                              float *target, struct error *error);

#endif
