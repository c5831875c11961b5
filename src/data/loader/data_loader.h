/* loader.h: batches, prepared ahead by threads of the loader's own.
 *
 * A loader walks its data set epoch after epoch. In training the order of an epoch is a permutation
 * that depends on (seed, epoch) only, an epoch has floor(images / batch) full batches, and each
 * image is cropped and flipped by draws that depend on (seed, epoch, image) only: the number of
 * threads and stopping and resuming change nothing. In evaluation the order is the set's, crops are
 * central, the last batch may be short, and an epoch is read when its first batch is asked for. One
 * consumer calls data_loader_next; the loader's readers fill a ring of batches and never touch one
 * that the consumer holds.
 */
#ifndef TINCA_DATA_LOADER_DATA_LOADER_H
#define TINCA_DATA_LOADER_DATA_LOADER_H

#include "base/error.h"
#include "data/dataset/dataset.h"

#include <stddef.h>
#include <stdint.h>

struct data_loader;

struct data_loader_settings {
    size_t batch;  /* images */
    bool training; /* shuffled, full batches, without end; else in order, once an epoch */
    bool augment;  /* random crop and flip (digits are never flipped, only where legal) */
    size_t pad;    /* zero border before the random crop: 4 for CIFAR, else 0 */
    uint64_t seed;
    struct normalisation normalisation;
    size_t threads;                    /* readers; 0: decided here */
    uint64_t first_epoch, first_batch; /* where to begin, batches counted on: resuming */
};

/* A batch lent to the consumer until the next call of data_loader_next. */
struct data_batch {
    const float *images;     /* [count, C, H, W], normalised */
    const int32_t *labels;   /* [count]; NULL for paired sets */
    const float *targets;    /* [count, C, H, W] of a paired set, else NULL */
    const uint32_t *indices; /* [count]: which images of the set these are */
    size_t count;            /* settings.batch, but for the last one of an evaluation */
    uint64_t epoch, number;  /* epoch from 0; number of this batch within it from 0 */
    bool last;               /* the last batch of its epoch */
};

/* Borrows `dataset`. Memory for the ring is allocated here; nothing later. */
struct data_loader *data_loader_open(const struct dataset *dataset,
                                     const struct data_loader_settings *settings,
                                     struct error *error);
void data_loader_free(struct data_loader *loader); /* stops the readers; may be NULL */

/* The next batch; waits for it when the readers are behind. False on an unreadable image of a set
 * that skips none (error says which), and in evaluation never more than once past the end: the call
 * after a batch with `last` begins the next epoch. */
bool data_loader_next(struct data_loader *loader, struct data_batch *batch, struct error *error);

/* Stops the readers until data_loader_continue, and returns when they hold no image that they
 * decode: another loader may read meanwhile, and only one of the two takes memory for decoding.
 * Batches that are ready stay so; data_loader_next must not be called while the loader is paused.
 */
void data_loader_pause(struct data_loader *loader);

/* Lets the readers of a paused loader go on. */
void data_loader_continue(struct data_loader *loader);

struct data_loader_statistics {
    double waited_seconds; /* the consumer, in all */
    size_t ready;          /* batches prepared and not yet taken */
    uint64_t skipped;      /* images that turned out unreadable and were replaced by the next one */
    uint64_t bytes;        /* of the ring */
};
void data_loader_statistics(const struct data_loader *loader,
                            struct data_loader_statistics *statistics);

/* Readers of a loader, each of which holds dataset_facts.decode_bytes at times; `stored` as below.
 */
size_t data_loader_worker_count(const struct data_loader_settings *settings, bool stored);

/* Returns the bytes that a loader with its ring and its threads will touch, for a set of `images`
 * images (SIZE_MAX: not known) of `values` numbers each; `stored`: of a kind whose images lie in
 * memory (dataset_kind). An evaluation touches no more of its ring than it has images. */
uint64_t data_loader_bytes(const struct data_loader_settings *settings, size_t images,
                           size_t values, bool paired, bool stored);

size_t data_loader_batches_per_epoch(const struct data_loader *loader);

/* Example `index` alone, to the bit as an evaluation's loader gives it: `image`, and for paired
 * sets `target`, are [C, H, W] of the set's facts. Needs no loader. Thread safe. */
bool data_loader_read_example(const struct dataset *dataset,
                              const struct normalisation *normalisation, size_t index, float *image,
                              float *target, struct error *error);

#endif
