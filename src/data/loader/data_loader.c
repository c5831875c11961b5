/* The loader: readers fill a ring of batches ahead of the one consumer.
 *
 * Batches are numbered through all epochs; batch n lives in slot n % slots. A slot is FREE, then
 * FILLING, READY, LENT, and FREE again. Readers take the images of the batch being filled in small
 * portions, under the lock; when the last portion is taken the next slot is opened, as soon as it
 * is free. Two batches can be FILLING at once: the slowest portion of one does not hold up the
 * other. Everything that a slot's contents depend on (which images, which epoch) is written into it
 * when it is opened, in the order of the batches, and the rest are counter-based draws. So which
 * reader does what changes nothing.
 *
 * An evaluation's loader reads one epoch at a time, from the first data_loader_next that asks for
 * it: between two evaluations its readers rest, and its ring has no more slots than an epoch has
 * batches.
 *
 * One mutex guards the slots' states and the counters; pixels are written outside it by the reader
 * that took the portion. `work` wakes readers (a slot became free, a paused loader goes on, or the
 * loader ends), `ready` wakes the consumer, `idle` wakes the one who pauses the loader.
 */
#include "data/loader/data_loader.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/dataset/dataset_source.h"
#include "data/loader/augment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_READERS = 16, MAX_SLOTS = 34, QUICK_PORTION = 32 };

/* Bytes that a reader's thread touches besides pixels: its stack, and malloc's arena of its own,
 * which with a decoder holds the rows and tables of libjpeg or libpng. */
enum { COPYING_READER = 84 << 10, DECODING_READER = 128 << 10 };

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_LENT };

struct slot {
    enum slot_state state;
    float *images, *targets;
    int32_t *labels;
    uint32_t *indices;
    size_t count, taken, done; /* images in it, handed to readers, and written */
    uint64_t epoch, number;
    bool failed;
    size_t failed_at; /* where the portion began whose first failure `error` is */
    struct error error;
};

struct data_loader {
    const struct dataset *dataset;
    const struct source *source;
    struct data_loader_settings settings;
    struct sample_table table;
    size_t image_values; /* C x H x W */
    size_t per_epoch, slots, readers, portion;
    pthread_t thread[MAX_READERS];

    pthread_mutex_t lock;
    pthread_cond_t work, ready, idle;
    struct slot slot[MAX_SLOTS];
    bool ending, paused;
    size_t in_hand;        /* portions that readers are filling */
    uint64_t limit;        /* batches below this number may be opened */
    uint64_t opened, next; /* batches opened for filling; number of the next one to lend */
    uint32_t *order;       /* the permutation of `order_epoch` */
    uint64_t order_epoch;
    bool ordered;    /* `order` is filled in */
    uint8_t *broken; /* which images turned out unreadable; NULL where none may */
    double waited_seconds;
    uint64_t skipped, bytes;
};

/* --- what is in a batch --- */

static void set_indices(struct data_loader *loader, struct slot *slot)
{
    size_t first = (size_t)slot->number * loader->settings.batch;
    if (loader->settings.training && (!loader->ordered || loader->order_epoch != slot->epoch)) {
        random_permutation(loader->settings.seed, RANDOM_ORDER, (uint32_t)slot->epoch,
                           loader->order, dataset_facts(loader->dataset)->images);
        loader->order_epoch = slot->epoch;
        loader->ordered = true;
    }
    for (size_t i = 0; i < slot->count; i++)
        slot->indices[i] =
            loader->settings.training ? loader->order[first + i] : (uint32_t)(first + i);
}

/* Opens the next slot if it is free and its batch is wanted. With the lock held. */
static struct slot *open_slot(struct data_loader *loader)
{
    struct slot *slot = &loader->slot[loader->opened % loader->slots];
    if (slot->state != SLOT_FREE || loader->opened == loader->limit)
        return NULL;
    size_t images = dataset_facts(loader->dataset)->images;
    slot->epoch = loader->opened / loader->per_epoch;
    slot->number = loader->opened % loader->per_epoch;
    size_t left = images - (size_t)slot->number * loader->settings.batch;
    slot->count = left < loader->settings.batch ? left : loader->settings.batch;
    slot->taken = slot->done = 0;
    slot->failed = false;
    slot->state = SLOT_FILLING;
    set_indices(loader, slot);
    loader->opened++;
    return slot;
}

/* --- filling --- */

static void write_example(const struct data_loader *loader, const struct slot *slot, size_t place,
                          const struct image *image, const struct image *target)
{
    const struct data_loader_settings *settings = &loader->settings;
    const struct dataset_facts *facts = dataset_facts(loader->dataset);
    struct crop_draw draw = {settings->training && settings->augment, settings->pad, settings->seed,
                             slot->epoch};
    struct crop crop = crop_for_training(loader->dataset, image, &draw, slot->indices[place]);
    crop_write(slot->images + place * loader->image_values, image, &crop, &loader->table);
    if (facts->paired)
        crop_write(slot->targets + place * loader->image_values, target, &crop, &loader->table);
}

/* Remembers an unreadable image, so that it counts once however often it comes. */
static void mark_broken(struct data_loader *loader, size_t index)
{
    pthread_mutex_lock(&loader->lock);
    loader->skipped += !loader->broken[index];
    loader->broken[index] = 1;
    pthread_mutex_unlock(&loader->lock);
}

static bool read_example(const struct data_loader *loader, size_t index, struct image *image,
                         struct image *target, struct error *error)
{
    bool paired = dataset_facts(loader->dataset)->paired;
    bool whole = !(loader->settings.training && loader->settings.augment);
    return dataset_image_for(loader->dataset, index, whole, image, paired ? target : NULL, error);
}

/* An unreadable image is replaced by the next one of the set that can be read. */
static bool fill_place(struct data_loader *loader, struct slot *slot, size_t place,
                       struct error *error)
{
    size_t images = dataset_facts(loader->dataset)->images;
    struct image image, target = {0};
    for (size_t tries = 0;; tries++) {
        size_t index = slot->indices[place];
        if (read_example(loader, index, &image, &target, error))
            break;
        if (!loader->broken || error->kind == ERROR_MEMORY || tries + 1 >= images)
            return false;
        mark_broken(loader, index);
        slot->indices[place] = (uint32_t)((index + 1) % images);
    }
    write_example(loader, slot, place, &image, &target);
    slot->labels[place] = (int32_t)dataset_label(loader->dataset, slot->indices[place]);
    image_free(&image);
    image_free(&target);
    return true;
}

/* A reader's portion of a batch. */
struct portion {
    struct slot *slot;
    size_t begin, end;
};

/* Takes the next portion; false when there is none now. With the lock held. */
static bool take_portion(struct data_loader *loader, struct portion *portion)
{
    struct slot *slot = NULL;
    if (loader->paused)
        return false;
    if (loader->opened > loader->next) {
        slot = &loader->slot[(loader->opened - 1) % loader->slots];
        if (slot->state != SLOT_FILLING || slot->taken == slot->count)
            slot = NULL;
    }
    if (!slot && !(slot = open_slot(loader)))
        return false;
    portion->slot = slot;
    portion->begin = slot->taken;
    portion->end =
        slot->count - slot->taken < loader->portion ? slot->count : slot->taken + loader->portion;
    slot->taken = portion->end;
    loader->in_hand++;
    return true;
}

/* With the lock held. */
static void finish_portion(struct data_loader *loader, const struct portion *portion, bool filled,
                           const struct error *error)
{
    struct slot *slot = portion->slot;
    /* the first in the batch's order is told, whichever reader was quicker */
    if (!filled && (!slot->failed || portion->begin < slot->failed_at)) {
        slot->failed = true;
        slot->failed_at = portion->begin;
        slot->error = *error;
    }
    if (--loader->in_hand == 0)
        pthread_cond_signal(&loader->idle);
    slot->done += portion->end - portion->begin;
    if (slot->done == slot->count) {
        slot->state = SLOT_READY;
        pthread_cond_signal(&loader->ready);
    }
}

static void *reader(void *context)
{
    struct data_loader *loader = context;
    struct portion portion;
    struct error error;
    pthread_mutex_lock(&loader->lock);
    while (!loader->ending) {
        if (!take_portion(loader, &portion)) {
            pthread_cond_wait(&loader->work, &loader->lock);
            continue;
        }
        pthread_mutex_unlock(&loader->lock);
        bool filled = true;
        for (size_t i = portion.begin; filled && i < portion.end; i++)
            filled = fill_place(loader, portion.slot, i, &error);
        pthread_mutex_lock(&loader->lock);
        finish_portion(loader, &portion, filled, &error);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* --- opening and closing --- */

static bool check_settings(const struct dataset_facts *facts,
                           const struct data_loader_settings *settings, struct error *error)
{
    if (settings->batch == 0)
        return error_set(error, ERROR_USAGE, "batch", NULL, "a batch has at least one image");
    if (settings->training && settings->batch > facts->images)
        return error_set(error, ERROR_INPUT, facts->spec, "choose a smaller batch or more images",
                         "the set has %zu images, fewer than one batch of %zu", facts->images,
                         settings->batch);
    if (settings->pad >= facts->width || settings->pad >= facts->height)
        return error_set(error, ERROR_USAGE, "pad", "4 is usual for 32x32",
                         "a border of %zu around images of %zux%zu", settings->pad, facts->width,
                         facts->height);
    return true;
}

/* Readers that do little more than copy are soon ahead; decoding and drawing are worth the cores
 * that the trainer leaves. */
static size_t choose_readers(const struct data_loader_settings *settings, bool quick)
{
    if (settings->threads)
        return settings->threads < MAX_READERS ? settings->threads : MAX_READERS;
    struct host host;
    host_describe(&host);
    size_t spare = host.cores > 2 ? host.cores - 1 : 1;
    size_t most = quick ? 2 : MAX_READERS;
    return spare < most ? spare : most;
}

/* One lent, one ready, and enough to fill that every reader has an image. */
static size_t choose_slots(size_t readers, size_t batch)
{
    size_t busy = (2 * readers + batch - 1) / batch;
    return 2 + (busy < MAX_SLOTS - 2 ? busy : MAX_SLOTS - 2);
}

size_t data_loader_worker_count(const struct data_loader_settings *settings, bool stored)
{
    return choose_readers(settings, stored);
}

uint64_t data_loader_bytes(const struct data_loader_settings *settings, size_t images,
                           size_t values, bool paired, bool stored)
{
    const size_t readers = choose_readers(settings, stored);
    const size_t slots = choose_slots(readers, settings->batch);
    const uint64_t pixels = (uint64_t)values * sizeof(float) * (paired ? 2 : 1);
    const struct slot *slot = NULL;
    uint64_t held = (uint64_t)slots * settings->batch;
    if (!settings->training && images < held)
        held = images;
    return sizeof(struct data_loader) + readers * (stored ? COPYING_READER : DECODING_READER) +
           held * (pixels + sizeof *slot->indices + sizeof *slot->labels);
}

static void *ring_array(struct data_loader *loader, size_t count, size_t size, struct error *error)
{
    loader->bytes += count * size;
    return memory_new_aligned(count, size, "the loader's ring of batches", error);
}

static bool allocate_slot(struct data_loader *loader, struct slot *slot, struct error *error)
{
    size_t batch = loader->settings.batch;
    bool paired = dataset_facts(loader->dataset)->paired;
    if (batch > SIZE_MAX / sizeof(float) / loader->image_values)
        return error_set_memory(error, "the loader's ring of batches", SIZE_MAX);
    slot->images = ring_array(loader, batch * loader->image_values, sizeof(float), error);
    slot->indices = ring_array(loader, batch, sizeof *slot->indices, error);
    slot->labels = ring_array(loader, batch, sizeof *slot->labels, error);
    if (paired)
        slot->targets = ring_array(loader, batch * loader->image_values, sizeof(float), error);
    return slot->images && slot->indices && slot->labels && (!paired || slot->targets);
}

static bool allocate_ring(struct data_loader *loader, struct error *error)
{
    size_t images = dataset_facts(loader->dataset)->images;
    for (size_t i = 0; i < loader->slots; i++)
        if (!allocate_slot(loader, &loader->slot[i], error))
            return false;
    if (loader->settings.training &&
        !(loader->order = ring_array(loader, images, sizeof *loader->order, error)))
        return false;
    if (loader->source->skips && !(loader->broken = memory_new(images, 1, "the loader", error)))
        return false;
    return true;
}

static bool start_readers(struct data_loader *loader, struct error *error)
{
    size_t wanted = loader->readers;
    for (loader->readers = 0; loader->readers < wanted; loader->readers++)
        if (pthread_create(&loader->thread[loader->readers], NULL, reader, loader) != 0)
            break;
    /* fewer than wanted is slower, and that is all */
    return loader->readers > 0 ||
           error_set(error, ERROR_SYSTEM, "the loader", "raise the limit on threads",
                     "no reader thread could be started");
}

static void choose_start(struct data_loader *loader)
{
    loader->opened =
        loader->settings.first_epoch * loader->per_epoch + loader->settings.first_batch;
    loader->next = loader->opened;
    loader->limit = loader->settings.training ? UINT64_MAX : loader->next;
}

struct data_loader *data_loader_open(const struct dataset *dataset,
                                     const struct data_loader_settings *settings,
                                     struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (!check_settings(facts, settings, error))
        return NULL;
    struct data_loader *loader = memory_new(1, sizeof *loader, "the loader", error);
    if (!loader)
        return NULL;
    loader->dataset = dataset;
    loader->source = dataset_source(dataset);
    loader->settings = *settings;
    loader->image_values = facts->channels * facts->height * facts->width;
    loader->per_epoch = facts->images / settings->batch;
    if (!settings->training && facts->images % settings->batch)
        loader->per_epoch++;
    loader->readers = choose_readers(settings, loader->source->quick);
    loader->slots = choose_slots(loader->readers, settings->batch);
    if (!settings->training && loader->slots > loader->per_epoch)
        loader->slots = loader->per_epoch;
    loader->portion = loader->source->quick ? QUICK_PORTION : 1;
    sample_table_fill(&loader->table, &settings->normalisation);
    choose_start(loader);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->idle, NULL);
    if (allocate_ring(loader, error) && start_readers(loader, error))
        return loader;
    loader->readers = 0;
    data_loader_free(loader);
    return NULL;
}

static void stop_readers(struct data_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->ending = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->readers; i++)
        pthread_join(loader->thread[i], NULL);
}

void data_loader_free(struct data_loader *loader)
{
    if (!loader)
        return;
    stop_readers(loader);
    for (size_t i = 0; i < loader->slots; i++) {
        free(loader->slot[i].images);
        free(loader->slot[i].targets);
        free(loader->slot[i].labels);
        free(loader->slot[i].indices);
    }
    pthread_cond_destroy(&loader->idle);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    free(loader->order);
    free(loader->broken);
    free(loader);
}

/* --- taking --- */

/* Gives back the batch that the consumer held. With the lock held. */
static void release_lent(struct data_loader *loader)
{
    if (loader->next == 0)
        return;
    struct slot *held = &loader->slot[(loader->next - 1) % loader->slots];
    if (held->state != SLOT_LENT)
        return;
    held->state = SLOT_FREE;
    pthread_cond_broadcast(&loader->work);
}

/* Lets an evaluation's readers begin the epoch that the consumer has come to. With the lock held.
 */
static void open_epoch(struct data_loader *loader)
{
    if (loader->next != loader->limit)
        return;
    loader->limit += loader->per_epoch - loader->limit % loader->per_epoch;
    pthread_cond_broadcast(&loader->work);
}

/* Waits until the next batch is ready. With the lock held. */
static struct slot *await_slot(struct data_loader *loader)
{
    struct slot *slot = &loader->slot[loader->next % loader->slots];
    if (slot->state == SLOT_READY)
        return slot;
    uint64_t began = clock_nanoseconds();
    while (slot->state != SLOT_READY)
        pthread_cond_wait(&loader->ready, &loader->lock);
    loader->waited_seconds += clock_seconds(began, clock_nanoseconds());
    return slot;
}

static void describe_batch(const struct data_loader *loader, const struct slot *slot,
                           struct data_batch *batch)
{
    bool paired = dataset_facts(loader->dataset)->paired;
    *batch = (struct data_batch){.images = slot->images,
                                 .labels = paired ? NULL : slot->labels,
                                 .targets = paired ? slot->targets : NULL,
                                 .indices = slot->indices,
                                 .count = slot->count,
                                 .epoch = slot->epoch,
                                 .number = slot->number,
                                 .last = slot->number + 1 == loader->per_epoch};
}

bool data_loader_next(struct data_loader *loader, struct data_batch *batch, struct error *error)
{
    pthread_mutex_lock(&loader->lock);
    release_lent(loader);
    open_epoch(loader);
    struct slot *slot = await_slot(loader);
    slot->state = SLOT_LENT;
    loader->next++;
    bool filled = !slot->failed;
    if (filled)
        describe_batch(loader, slot, batch);
    else if (error)
        *error = slot->error;
    pthread_mutex_unlock(&loader->lock);
    return filled;
}

void data_loader_pause(struct data_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->paused = true;
    while (loader->in_hand > 0)
        pthread_cond_wait(&loader->idle, &loader->lock);
    pthread_mutex_unlock(&loader->lock);
}

void data_loader_continue(struct data_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->paused = false;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
}

void data_loader_statistics(const struct data_loader *loader,
                            struct data_loader_statistics *statistics)
{
    /* the lock is the only thing that asking changes */
    pthread_mutex_t *lock = (pthread_mutex_t *)&loader->lock;
    pthread_mutex_lock(lock);
    *statistics = (struct data_loader_statistics){.waited_seconds = loader->waited_seconds,
                                                  .skipped = loader->skipped,
                                                  .bytes = loader->bytes};
    for (size_t i = 0; i < loader->slots; i++)
        statistics->ready += loader->slot[i].state == SLOT_READY;
    pthread_mutex_unlock(lock);
}

size_t data_loader_batches_per_epoch(const struct data_loader *loader)
{
    return loader->per_epoch;
}

/* --- one example --- */

static void write_centre(const struct dataset *dataset, const struct normalisation *normalisation,
                         const struct image *image, float *values)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    const struct crop crop = crop_centre(image, facts->width, facts->height);
    struct sample_table table;
    sample_table_fill(&table, normalisation);
    crop_write(values, image, &crop, &table);
}

bool data_loader_read_example(const struct dataset *dataset,
                              const struct normalisation *normalisation, size_t index, float *image,
                              float *target, struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    struct image read = {0}, read_target = {0};
    if (index >= facts->images)
        return error_set(error, ERROR_USAGE, facts->spec, NULL,
                         "there is no image %zu: the set has %zu", index, facts->images);
    if (!dataset_image_for(dataset, index, true, &read, facts->paired ? &read_target : NULL, error))
        return false;
    write_centre(dataset, normalisation, &read, image);
    if (facts->paired)
        write_centre(dataset, normalisation, &read_target, target);
    image_free(&read);
    image_free(&read_target);
    return true;
}
