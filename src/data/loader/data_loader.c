/* Opens and closes a data loader, and hands its batches to the consumer. The decode workers
 * (decode_worker.c) and this file share the prefetch queue; internal.h explains its slots and
 * locks.
 *
 * An evaluation's loader reads one epoch at a time: `limit` stops the workers at the end of the
 * epoch until data_loader_next asks for the next one. Its queue has at most as many slots as an
 * epoch has batches.
 *
 * A consumer's device may provide the memory of images, targets and labels, and read it
 * asynchronously: a slot is free again only once the device has read it. */
#include "data/loader/data_loader.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "data/loader/internal.h"

#include <stdlib.h>

enum { COPY_PORTION = 32 }; /* images at a time, where an image costs a copy only */

/* Bytes that a worker's thread takes besides pixels: its stack and its malloc arena, in which
 * libjpeg or libpng, when it decodes, keep their rows and tables. */
enum { COPYING_WORKER = 84 << 10, DECODING_WORKER = 128 << 10 };

/* --- opening and closing --- */

static bool mixes_images(const struct data_loader_settings *settings)
{
    return settings->training && augmentation_mixes(&settings->augmentation);
}

/* Returns the part of each batch that the settings ask for. In training with mixup or cutmix, their
 * partners are read too, as many images again, unless the part is the middle of the batch, whose
 * images are partners of each other. */
static struct wanted_part choose_part(const struct data_loader_settings *settings)
{
    const size_t parts = settings->parts ? settings->parts : 1;
    if (!settings->training)
        return (struct wanted_part){.stride = parts,
                                    .first_number = parts > 1 ? settings->part : 0,
                                    .count = settings->batch};
    const size_t count = settings->batch / parts;
    const bool has_partners = mixes_images(settings) && 2 * settings->part + 1 != parts;
    return (struct wanted_part){.stride = 1,
                                .count = count,
                                .first = settings->part * count,
                                .partners = has_partners ? count : 0};
}

/* Returns how many batches of an epoch are wanted. */
static size_t count_batches(const struct data_loader_settings *settings, size_t images)
{
    const struct wanted_part wanted = choose_part(settings);
    const size_t full = images / settings->batch;
    if (settings->training)
        return full;
    const size_t all = full + (images % settings->batch > 0);
    return (all - wanted.first_number + wanted.stride - 1) / wanted.stride;
}

static bool check_settings(const struct dataset_facts *facts,
                           const struct data_loader_settings *settings, struct error *error)
{
    if (settings->batch == 0)
        return error_set(error, ERROR_USAGE, "batch", NULL, "a batch has at least one image");
    if (settings->training && settings->batch > facts->images)
        return error_set(error, ERROR_INPUT, facts->spec, "choose a smaller batch or more images",
                         "the set has %zu images, fewer than one batch of %zu", facts->images,
                         settings->batch);
    if (settings->balanced && facts->paired)
        return error_set(error, ERROR_USAGE, "--sampling balanced", "leave it out",
                         "the examples of %s are pairs and have no classes", facts->spec);
    return !settings->training ||
           augmentation_check(&settings->augmentation, facts, settings->batch, error);
}

/* Returns the number of workers. Two keep the queue full if they only copy images; decoding and
 * drawing are worth every core that the trainer leaves. */
static size_t choose_workers(const struct data_loader_settings *settings, bool quick)
{
    if (settings->threads)
        return settings->threads < MAX_WORKERS ? settings->threads : MAX_WORKERS;
    struct host host;
    host_describe(&host);
    size_t spare = host.cores > 2 ? host.cores - 1 : 1;
    size_t most = quick ? 2 : MAX_WORKERS;
    return spare < most ? spare : most;
}

/* Returns the number of slots: one that the consumer has, one that is ready, and enough being
 * filled to hold two images for each worker. */
static size_t choose_slots(size_t workers, size_t batch)
{
    size_t busy = (2 * workers + batch - 1) / batch;
    return 2 + (busy < MAX_SLOTS - 2 ? busy : MAX_SLOTS - 2);
}

size_t data_loader_worker_count(const struct data_loader_settings *settings, bool stored)
{
    return choose_workers(settings, stored);
}

uint64_t data_loader_bytes(const struct data_loader_settings *settings, size_t images,
                           size_t values, bool paired, bool stored)
{
    const size_t workers = choose_workers(settings, stored);
    const struct wanted_part wanted = choose_part(settings);
    const size_t places = wanted.count + wanted.partners;
    const size_t slots = choose_slots(workers, places);
    const size_t each = settings->samples ? sizeof(uint8_t) : sizeof(float);
    const uint64_t pixels = (uint64_t)values * each * (paired ? 2 : 1);
    const struct slot *slot = NULL;
    uint64_t held = (uint64_t)slots * places;
    if (!settings->training && images < held)
        held = images;
    const size_t mixed =
        mixes_images(settings) ? sizeof *slot->partner_labels + sizeof *slot->shares : 0;
    return sizeof(struct data_loader) + workers * (stored ? COPYING_WORKER : DECODING_WORKER) +
           held * (pixels + sizeof *slot->indices + sizeof *slot->labels + mixed);
}

static void *ring_array(struct data_loader *loader, size_t count, size_t size, struct error *error)
{
    loader->bytes += count * size;
    return memory_new_aligned(count, size, "the data loader's prefetch queue", error);
}

/* Returns an array that the consumer's device can read, or NULL with an error. */
static void *batch_array(struct data_loader *loader, size_t count, size_t size, struct error *error)
{
    const struct batch_memory *memory = &loader->settings.memory;
    if (!memory->allocate)
        return ring_array(loader, count, size, error);
    loader->bytes += count * size;
    return memory->allocate(memory->owner, count * size, "the data loader's prefetch queue", error);
}

static void free_batch_array(const struct data_loader *loader, void *array)
{
    const struct batch_memory *memory = &loader->settings.memory;
    if (memory->release)
        memory->release(memory->owner, array);
    else
        free(array);
}

/* Allocates the images or the targets of a slot: only the array that is used. */
static bool allocate_values(struct data_loader *loader, float **values, uint8_t **samples,
                            struct error *error)
{
    const size_t count = (loader->wanted.count + loader->wanted.partners) * loader->image_values;
    if (loader->samples)
        *samples = batch_array(loader, count, sizeof **samples, error);
    else
        *values = batch_array(loader, count, sizeof **values, error);
    return *samples || *values;
}

static bool allocate_slot(struct data_loader *loader, struct slot *slot, struct error *error)
{
    const size_t batch = loader->wanted.count + loader->wanted.partners;
    if (batch > SIZE_MAX / sizeof(float) / loader->image_values)
        return error_set_memory(error, "the data loader's prefetch queue", SIZE_MAX);
    if (!allocate_values(loader, &slot->images, &slot->image_samples, error) ||
        (dataset_facts(loader->dataset)->paired &&
         !allocate_values(loader, &slot->targets, &slot->target_samples, error)))
        return false;
    slot->indices = ring_array(loader, batch, sizeof *slot->indices, error);
    slot->labels = batch_array(loader, batch, sizeof *slot->labels, error);
    if (loader->mixes) {
        slot->partner_labels = ring_array(loader, batch, sizeof *slot->partner_labels, error);
        slot->shares = ring_array(loader, batch, sizeof *slot->shares, error);
    }
    return slot->indices && slot->labels &&
           (!loader->mixes || (slot->partner_labels && slot->shares));
}

static bool allocate_ring(struct data_loader *loader, struct error *error)
{
    size_t images = dataset_facts(loader->dataset)->images;
    for (size_t i = 0; i < loader->slots; i++)
        if (!allocate_slot(loader, &loader->slot[i], error))
            return false;
    if (loader->settings.training &&
        !(loader->order.images = ring_array(loader, images, sizeof *loader->order.images, error)))
        return false;
    if (loader->settings.training && loader->settings.balanced &&
        !class_images_make(&loader->order.classes, loader->dataset, error))
        return false;
    if (loader->source->skips && !loader->settings.strict &&
        !(loader->skipped.marks = memory_new(images, 1, "the data loader", error)))
        return false;
    return true;
}

static bool start_workers(struct data_loader *loader, struct error *error)
{
    size_t wanted = loader->workers;
    for (loader->workers = 0; loader->workers < wanted; loader->workers++)
        if (thread_start(&loader->thread[loader->workers], decode_worker_run, loader) != 0)
            break;
    /* with fewer workers than wanted the loader is slower, but it works */
    return loader->workers > 0 ||
           error_set(error, ERROR_SYSTEM, "the data loader", "raise the limit on threads",
                     "no decode worker could be started");
}

static void choose_start(struct data_loader *loader)
{
    loader->opened =
        loader->settings.first_epoch * loader->per_epoch + loader->settings.first_batch;
    loader->next = loader->opened;
    loader->limit = loader->settings.training ? UINT64_MAX : loader->next;
}

bool data_loader_has_samples(const struct dataset *dataset,
                             const struct data_loader_settings *settings)
{
    return settings->samples && !dataset_facts(dataset)->deep &&
           (!settings->training || augmentation_keeps_samples(&settings->augmentation));
}

struct data_loader *data_loader_open(const struct dataset *dataset,
                                     const struct data_loader_settings *settings,
                                     struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (!check_settings(facts, settings, error))
        return NULL;
    struct data_loader *loader = memory_new(1, sizeof *loader, "the data loader", error);
    if (!loader)
        return NULL;
    loader->dataset = dataset;
    loader->source = dataset_source(dataset);
    loader->settings = *settings;
    loader->wanted = choose_part(settings);
    loader->mixes = mixes_images(settings);
    loader->samples = data_loader_has_samples(dataset, settings);
    if (!settings->training)
        loader->settings.augmentation = (struct augmentation){0};
    loader->image_values = facts->channels * facts->height * facts->width;
    loader->per_epoch = count_batches(settings, facts->images);
    loader->workers = choose_workers(settings, loader->source->quick);
    loader->slots = choose_slots(loader->workers, loader->wanted.count + loader->wanted.partners);
    if (!settings->training && loader->slots > loader->per_epoch)
        loader->slots = loader->per_epoch;
    loader->portion = loader->source->quick ? COPY_PORTION : 1;
    sample_table_fill(&loader->table, &settings->normalisation);
    choose_start(loader);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->work, NULL);
    pthread_cond_init(&loader->ready, NULL);
    pthread_cond_init(&loader->idle, NULL);
    if (allocate_ring(loader, error) && start_workers(loader, error))
        return loader;
    loader->workers = 0;
    data_loader_free(loader);
    return NULL;
}

/* Waits until the consumer's device has read the batches that it was given. */
static void await_consumer(const struct data_loader *loader)
{
    const struct batch_memory *memory = &loader->settings.memory;
    if (memory->await)
        memory->await(memory->owner);
}

static void stop_workers(struct data_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    loader->closing = true;
    pthread_cond_broadcast(&loader->work);
    pthread_mutex_unlock(&loader->lock);
    for (size_t i = 0; i < loader->workers; i++)
        pthread_join(loader->thread[i], NULL);
}

void data_loader_free(struct data_loader *loader)
{
    if (!loader)
        return;
    stop_workers(loader);
    await_consumer(loader);
    for (size_t i = 0; i < loader->slots; i++) {
        free_batch_array(loader, loader->slot[i].images);
        free_batch_array(loader, loader->slot[i].targets);
        free_batch_array(loader, loader->slot[i].image_samples);
        free_batch_array(loader, loader->slot[i].target_samples);
        free_batch_array(loader, loader->slot[i].labels);
        free(loader->slot[i].partner_labels);
        free(loader->slot[i].shares);
        free(loader->slot[i].indices);
    }
    pthread_cond_destroy(&loader->idle);
    pthread_cond_destroy(&loader->ready);
    pthread_cond_destroy(&loader->work);
    pthread_mutex_destroy(&loader->lock);
    class_images_free(&loader->order.classes);
    free(loader->order.images);
    free(loader->skipped.marks);
    broken_list_free(&loader->skipped.names);
    free(loader);
}

/* --- the consumer --- */

/* Frees the slot of the batch that the consumer has. The caller holds the lock. */
static void release_batch(struct data_loader *loader)
{
    if (loader->next == 0)
        return;
    struct slot *held = &loader->slot[(loader->next - 1) % loader->slots];
    if (held->state != SLOT_LENT)
        return;
    held->state = SLOT_FREE;
    pthread_cond_broadcast(&loader->work);
}

/* Lets an evaluation's workers begin the next epoch once the consumer has reached it. The caller
 * must hold the lock. */
static void open_epoch(struct data_loader *loader)
{
    if (loader->next != loader->limit)
        return;
    loader->limit += loader->per_epoch - loader->limit % loader->per_epoch;
    pthread_cond_broadcast(&loader->work);
}

/* Waits until the next batch is ready; returns its slot. The caller must hold the lock. */
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
    const uint64_t last =
        (loader->per_epoch - 1) * loader->wanted.stride + loader->wanted.first_number;
    *batch = (struct data_batch){.images = slot->images,
                                 .labels = paired ? NULL : slot->labels,
                                 .partner_labels = slot->partner_labels,
                                 .shares = slot->shares,
                                 .targets = paired ? slot->targets : NULL,
                                 .image_samples = slot->image_samples,
                                 .target_samples = paired ? slot->target_samples : NULL,
                                 .indices = slot->indices,
                                 .count = slot->count,
                                 .epoch = slot->epoch,
                                 .number = slot->number,
                                 .last = slot->number == last};
}

bool data_loader_next(struct data_loader *loader, struct data_batch *batch, struct error *error)
{
    await_consumer(loader);
    pthread_mutex_lock(&loader->lock);
    release_batch(loader);
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
    while (loader->in_progress > 0)
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
    /* the lock is the only member that this function changes */
    pthread_mutex_t *lock = (pthread_mutex_t *)&loader->lock;
    pthread_mutex_lock(lock);
    *statistics = (struct data_loader_statistics){.waited_seconds = loader->waited_seconds,
                                                  .skipped = loader->skipped.count,
                                                  .bytes = loader->bytes};
    for (size_t i = 0; i < loader->slots; i++)
        statistics->ready += loader->slot[i].state == SLOT_READY;
    pthread_mutex_unlock(lock);
}

char *data_loader_broken(struct data_loader *loader, char *text, size_t size)
{
    pthread_mutex_lock(&loader->lock);
    broken_list_words(&loader->skipped.names, text, size);
    pthread_mutex_unlock(&loader->lock);
    return text;
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
