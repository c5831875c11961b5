/* internal.h: the ring of batches between the decode workers and the consumer. */
#ifndef TINCA_DATA_LOADER_INTERNAL_H
#define TINCA_DATA_LOADER_INTERNAL_H

#include "data/dataset/dataset_source.h"
#include "data/loader/data_loader.h"
#include "data/loader/epoch_order.h"
#include "data/loader/training_example.h"

#include <pthread.h>

/* Batches are numbered through all epochs, and batch n uses slot n % slots. A slot cycles through
 * the states
 *
 *     FREE -> FILLING -> READY -> LENT -> FREE
 *
 * A loader of a part of each batch that mixes images (mix.h) reads their partners, too, unless
 * these belong to the part: the images at the other end of the batch, after the part in the slot.
 * In the slot they are mirrored like those of a whole batch.
 *
 * When a slot opens (FREE -> FILLING), the images of its batch are written into slot->indices.
 * Workers then take these images in portions; the worker that completes the last one mixes the
 * images, if mixup or cutmix is on (mix.h), and makes the slot READY. As soon as all portions of
 * one batch are taken, the next slot may open, so two batches can be FILLING and a slow image in
 * one does not hold up the other. Slots open in the order of the batches, so the permutation of an
 * epoch does not depend on the workers, and crops and flips use counter-based random numbers: the
 * result is the same whichever worker fills a portion.
 *
 * One mutex guards the slots' states and the counters. Workers write pixels without holding it,
 * into the places of the portion that they took. Condition variables: `work` wakes workers (a slot
 * became free, a new epoch or the end of a pause allows more work, or the loader closes), `ready`
 * wakes the consumer, and `idle` wakes the thread in data_loader_pause.
 */

enum { MAX_WORKERS = 16, MAX_SLOTS = 34 };

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_LENT };

struct slot {
    enum slot_state state;
    float *images, *targets; /* NULL: the batches consist of samples */
    uint8_t *image_samples, *target_samples;
    int32_t *labels, *partner_labels; /* partner_labels and shares: NULL unless images are mixed */
    float *shares;
    uint32_t *indices;
    size_t count;               /* images for the consumer, which are the first ones */
    size_t places, taken, done; /* images to read; taken by workers; completed */
    uint64_t epoch, number;
    bool failed;
    size_t failed_at; /* first image of the portion that `error` comes from */
    struct error error;
};

/* The part of the data set that the consumer wants (data_loader_settings.parts). */
struct wanted_part {
    size_t stride, first_number; /* an epoch has every stride-th batch, from first_number on */
    size_t count, first;         /* of each batch: how many images, and from which on */
    size_t partners;             /* images of each batch that are only read for mixing (mix.h) */
};

/* The order in which the current epoch of a training reads the images. */
struct current_order {
    struct class_images classes; /* with balanced sampling */
    uint32_t *images;            /* [images]: those of `epoch`, if `valid`; NULL: an evaluation */
    uint64_t epoch;
    bool valid;
};

/* The unreadable images of a set that skips them. */
struct skipped_images {
    uint8_t *marks; /* [images]: 1 for images found unreadable; NULL if such images are errors */
    struct broken_list names; /* of these images, with the reasons */
    uint64_t count;
};

struct data_loader {
    const struct dataset *dataset;
    const struct source *source;
    struct data_loader_settings settings;
    struct sample_table table;
    size_t image_values; /* C x H x W */
    size_t per_epoch, slots, workers;
    struct wanted_part wanted;
    size_t portion; /* images that a worker takes at a time */
    bool mixes;     /* mixup or cutmix */
    bool samples;   /* batches of 8-bit samples (data_loader_has_samples) */
    pthread_t thread[MAX_WORKERS];

    pthread_mutex_t lock; /* guards all that follows, except pixels */
    pthread_cond_t work, ready, idle;
    struct slot slot[MAX_SLOTS];
    bool closing, paused;
    size_t in_progress; /* portions that workers are filling now */
    uint64_t limit;     /* batches with this number or above must wait */
    uint64_t opened;    /* number of the next batch to open a slot for */
    uint64_t next;      /* number of the next batch that the consumer takes */
    struct current_order order;
    struct skipped_images skipped;
    double waited_seconds;
    uint64_t bytes; /* of the queue */
};

/* Fills portions of batches until the loader closes. The main function of a decode worker. */
void *decode_worker_run(void *loader);

#endif
