/* The feed: readers fill a ring of batches ahead of the one consumer.
 *
 * Batches are numbered through all epochs; batch n lives in slot n % slots. A slot is FREE, then
 * FILLING, READY, LENT, and FREE again. Readers take the images of the batch being filled in small
 * portions, under the lock; when the last portion is taken the next slot is opened, as soon as it
 * is free. Two batches can be FILLING at once: the slowest portion of one does not hold up the
 * other. Everything that a slot's contents depend on (which images, which epoch) is written into it
 * when it is opened, in the order of the batches, and the rest are counter-based draws. So which
 * reader does what changes nothing.
 *
 * An evaluation's feed reads one epoch at a time, from the first feed_next that asks for it:
 * between two evaluations its readers rest, and its ring has no more slots than an epoch has
 * batches.
 *
 * One mutex guards the slots' states and the counters; pixels are written outside it by the reader
 * that took the portion. `work` wakes readers (a slot became free, a paused feed goes on, or the
 * feed ends), `ready` wakes the consumer, `idle` wakes the one who pauses the feed.
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

struct feed {
    const struct dataset *dataset;
    const struct source *source;
    struct feed_settings settings;
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

static void set_indices(struct feed *feed, struct slot *slot)
{
    size_t first = (size_t)slot->number * feed->settings.batch;
    if (feed->settings.training && (!feed->ordered || feed->order_epoch != slot->epoch)) {
        random_permutation(feed->settings.seed, RANDOM_ORDER, (uint32_t)slot->epoch, feed->order,
                           dataset_facts(feed->dataset)->images);
        feed->order_epoch = slot->epoch;
        feed->ordered = true;
    }
    for (size_t i = 0; i < slot->count; i++)
        slot->indices[i] = feed->settings.training ? feed->order[first + i] : (uint32_t)(first + i);
}

/* Opens the next slot if it is free and its batch is wanted. With the lock held. */
static struct slot *open_slot(struct feed *feed)
{
    struct slot *slot = &feed->slot[feed->opened % feed->slots];
    if (slot->state != SLOT_FREE || feed->opened == feed->limit)
        return NULL;
    size_t images = dataset_facts(feed->dataset)->images;
    slot->epoch = feed->opened / feed->per_epoch;
    slot->number = feed->opened % feed->per_epoch;
    size_t left = images - (size_t)slot->number * feed->settings.batch;
    slot->count = left < feed->settings.batch ? left : feed->settings.batch;
    slot->taken = slot->done = 0;
    slot->failed = false;
    slot->state = SLOT_FILLING;
    set_indices(feed, slot);
    feed->opened++;
    return slot;
}

/* --- filling --- */

static void write_example(const struct feed *feed, const struct slot *slot, size_t place,
                          const struct image *image, const struct image *target)
{
    const struct feed_settings *settings = &feed->settings;
    const struct dataset_facts *facts = dataset_facts(feed->dataset);
    struct crop_draw draw = {settings->training && settings->augment, settings->pad, settings->seed,
                             slot->epoch};
    struct crop crop = crop_for_training(feed->dataset, image, &draw, slot->indices[place]);
    crop_write(slot->images + place * feed->image_values, image, &crop, &feed->table);
    if (facts->paired)
        crop_write(slot->targets + place * feed->image_values, target, &crop, &feed->table);
}

/* Remembers an unreadable image, so that it counts once however often it comes. */
static void mark_broken(struct feed *feed, size_t index)
{
    pthread_mutex_lock(&feed->lock);
    feed->skipped += !feed->broken[index];
    feed->broken[index] = 1;
    pthread_mutex_unlock(&feed->lock);
}

static bool read_example(const struct feed *feed, size_t index, struct image *image,
                         struct image *target, struct error *error)
{
    bool paired = dataset_facts(feed->dataset)->paired;
    bool whole = !(feed->settings.training && feed->settings.augment);
    return dataset_image_for(feed->dataset, index, whole, image, paired ? target : NULL, error);
}

/* An unreadable image is replaced by the next one of the set that can be read. */
static bool fill_place(struct feed *feed, struct slot *slot, size_t place, struct error *error)
{
    size_t images = dataset_facts(feed->dataset)->images;
    struct image image, target = {0};
    for (size_t tries = 0;; tries++) {
        size_t index = slot->indices[place];
        if (read_example(feed, index, &image, &target, error))
            break;
        if (!feed->broken || error->kind == ERROR_MEMORY || tries + 1 >= images)
            return false;
        mark_broken(feed, index);
        slot->indices[place] = (uint32_t)((index + 1) % images);
    }
    write_example(feed, slot, place, &image, &target);
    slot->labels[place] = (int32_t)dataset_label(feed->dataset, slot->indices[place]);
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
static bool take_portion(struct feed *feed, struct portion *portion)
{
    struct slot *slot = NULL;
    if (feed->paused)
        return false;
    if (feed->opened > feed->next) {
        slot = &feed->slot[(feed->opened - 1) % feed->slots];
        if (slot->state != SLOT_FILLING || slot->taken == slot->count)
            slot = NULL;
    }
    if (!slot && !(slot = open_slot(feed)))
        return false;
    portion->slot = slot;
    portion->begin = slot->taken;
    portion->end =
        slot->count - slot->taken < feed->portion ? slot->count : slot->taken + feed->portion;
    slot->taken = portion->end;
    feed->in_hand++;
    return true;
}

/* With the lock held. */
static void finish_portion(struct feed *feed, const struct portion *portion, bool filled,
                           const struct error *error)
{
    struct slot *slot = portion->slot;
    /* the first in the batch's order is told, whichever reader was quicker */
    if (!filled && (!slot->failed || portion->begin < slot->failed_at)) {
        slot->failed = true;
        slot->failed_at = portion->begin;
        slot->error = *error;
    }
    if (--feed->in_hand == 0)
        pthread_cond_signal(&feed->idle);
    slot->done += portion->end - portion->begin;
    if (slot->done == slot->count) {
        slot->state = SLOT_READY;
        pthread_cond_signal(&feed->ready);
    }
}

static void *reader(void *context)
{
    struct feed *feed = context;
    struct portion portion;
    struct error error;
    pthread_mutex_lock(&feed->lock);
    while (!feed->ending) {
        if (!take_portion(feed, &portion)) {
            pthread_cond_wait(&feed->work, &feed->lock);
            continue;
        }
        pthread_mutex_unlock(&feed->lock);
        bool filled = true;
        for (size_t i = portion.begin; filled && i < portion.end; i++)
            filled = fill_place(feed, portion.slot, i, &error);
        pthread_mutex_lock(&feed->lock);
        finish_portion(feed, &portion, filled, &error);
    }
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

/* --- opening and closing --- */

static bool check_settings(const struct dataset_facts *facts, const struct feed_settings *settings,
                           struct error *error)
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
static size_t choose_readers(const struct feed_settings *settings, bool quick)
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

size_t feed_reader_count(const struct feed_settings *settings, bool stored)
{
    return choose_readers(settings, stored);
}

uint64_t feed_ring_bytes(const struct feed_settings *settings, size_t images, size_t values,
                         bool paired, bool stored)
{
    const size_t readers = choose_readers(settings, stored);
    const size_t slots = choose_slots(readers, settings->batch);
    const uint64_t pixels = (uint64_t)values * sizeof(float) * (paired ? 2 : 1);
    const struct slot *slot = NULL;
    uint64_t held = (uint64_t)slots * settings->batch;
    if (!settings->training && images < held)
        held = images;
    return sizeof(struct feed) + readers * (stored ? COPYING_READER : DECODING_READER) +
           held * (pixels + sizeof *slot->indices + sizeof *slot->labels);
}

static void *ring_array(struct feed *feed, size_t count, size_t size, struct error *error)
{
    feed->bytes += count * size;
    return memory_new_aligned(count, size, "the feed's ring of batches", error);
}

static bool allocate_slot(struct feed *feed, struct slot *slot, struct error *error)
{
    size_t batch = feed->settings.batch;
    bool paired = dataset_facts(feed->dataset)->paired;
    if (batch > SIZE_MAX / sizeof(float) / feed->image_values)
        return error_set_memory(error, "the feed's ring of batches", SIZE_MAX);
    slot->images = ring_array(feed, batch * feed->image_values, sizeof(float), error);
    slot->indices = ring_array(feed, batch, sizeof *slot->indices, error);
    slot->labels = ring_array(feed, batch, sizeof *slot->labels, error);
    if (paired)
        slot->targets = ring_array(feed, batch * feed->image_values, sizeof(float), error);
    return slot->images && slot->indices && slot->labels && (!paired || slot->targets);
}

static bool allocate_ring(struct feed *feed, struct error *error)
{
    size_t images = dataset_facts(feed->dataset)->images;
    for (size_t i = 0; i < feed->slots; i++)
        if (!allocate_slot(feed, &feed->slot[i], error))
            return false;
    if (feed->settings.training &&
        !(feed->order = ring_array(feed, images, sizeof *feed->order, error)))
        return false;
    if (feed->source->skips && !(feed->broken = memory_new(images, 1, "the feed", error)))
        return false;
    return true;
}

static bool start_readers(struct feed *feed, struct error *error)
{
    size_t wanted = feed->readers;
    for (feed->readers = 0; feed->readers < wanted; feed->readers++)
        if (pthread_create(&feed->thread[feed->readers], NULL, reader, feed) != 0)
            break;
    /* fewer than wanted is slower, and that is all */
    return feed->readers > 0 ||
           error_set(error, ERROR_SYSTEM, "the feed", "raise the limit on threads",
                     "no reader thread could be started");
}

static void choose_start(struct feed *feed)
{
    feed->opened = feed->settings.first_epoch * feed->per_epoch + feed->settings.first_batch;
    feed->next = feed->opened;
    feed->limit = feed->settings.training ? UINT64_MAX : feed->next;
}

struct feed *feed_open(const struct dataset *dataset, const struct feed_settings *settings,
                       struct error *error)
{
    const struct dataset_facts *facts = dataset_facts(dataset);
    if (!check_settings(facts, settings, error))
        return NULL;
    struct feed *feed = memory_new(1, sizeof *feed, "the feed", error);
    if (!feed)
        return NULL;
    feed->dataset = dataset;
    feed->source = dataset_source(dataset);
    feed->settings = *settings;
    feed->image_values = facts->channels * facts->height * facts->width;
    feed->per_epoch = facts->images / settings->batch;
    if (!settings->training && facts->images % settings->batch)
        feed->per_epoch++;
    feed->readers = choose_readers(settings, feed->source->quick);
    feed->slots = choose_slots(feed->readers, settings->batch);
    if (!settings->training && feed->slots > feed->per_epoch)
        feed->slots = feed->per_epoch;
    feed->portion = feed->source->quick ? QUICK_PORTION : 1;
    sample_table_fill(&feed->table, &settings->normalisation);
    choose_start(feed);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->work, NULL);
    pthread_cond_init(&feed->ready, NULL);
    pthread_cond_init(&feed->idle, NULL);
    if (allocate_ring(feed, error) && start_readers(feed, error))
        return feed;
    feed->readers = 0;
    feed_free(feed);
    return NULL;
}

static void stop_readers(struct feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->ending = true;
    pthread_cond_broadcast(&feed->work);
    pthread_mutex_unlock(&feed->lock);
    for (size_t i = 0; i < feed->readers; i++)
        pthread_join(feed->thread[i], NULL);
}

void feed_free(struct feed *feed)
{
    if (!feed)
        return;
    stop_readers(feed);
    for (size_t i = 0; i < feed->slots; i++) {
        free(feed->slot[i].images);
        free(feed->slot[i].targets);
        free(feed->slot[i].labels);
        free(feed->slot[i].indices);
    }
    pthread_cond_destroy(&feed->idle);
    pthread_cond_destroy(&feed->ready);
    pthread_cond_destroy(&feed->work);
    pthread_mutex_destroy(&feed->lock);
    free(feed->order);
    free(feed->broken);
    free(feed);
}

/* --- taking --- */

/* Gives back the batch that the consumer held. With the lock held. */
static void release_lent(struct feed *feed)
{
    if (feed->next == 0)
        return;
    struct slot *held = &feed->slot[(feed->next - 1) % feed->slots];
    if (held->state != SLOT_LENT)
        return;
    held->state = SLOT_FREE;
    pthread_cond_broadcast(&feed->work);
}

/* Lets an evaluation's readers begin the epoch that the consumer has come to. With the lock held.
 */
static void open_epoch(struct feed *feed)
{
    if (feed->next != feed->limit)
        return;
    feed->limit += feed->per_epoch - feed->limit % feed->per_epoch;
    pthread_cond_broadcast(&feed->work);
}

/* Waits until the next batch is ready. With the lock held. */
static struct slot *await_slot(struct feed *feed)
{
    struct slot *slot = &feed->slot[feed->next % feed->slots];
    if (slot->state == SLOT_READY)
        return slot;
    uint64_t began = clock_nanoseconds();
    while (slot->state != SLOT_READY)
        pthread_cond_wait(&feed->ready, &feed->lock);
    feed->waited_seconds += clock_seconds(began, clock_nanoseconds());
    return slot;
}

static void describe_batch(const struct feed *feed, const struct slot *slot,
                           struct feed_batch *batch)
{
    bool paired = dataset_facts(feed->dataset)->paired;
    *batch = (struct feed_batch){.images = slot->images,
                                 .labels = paired ? NULL : slot->labels,
                                 .targets = paired ? slot->targets : NULL,
                                 .indices = slot->indices,
                                 .count = slot->count,
                                 .epoch = slot->epoch,
                                 .number = slot->number,
                                 .last = slot->number + 1 == feed->per_epoch};
}

bool feed_next(struct feed *feed, struct feed_batch *batch, struct error *error)
{
    pthread_mutex_lock(&feed->lock);
    release_lent(feed);
    open_epoch(feed);
    struct slot *slot = await_slot(feed);
    slot->state = SLOT_LENT;
    feed->next++;
    bool filled = !slot->failed;
    if (filled)
        describe_batch(feed, slot, batch);
    else if (error)
        *error = slot->error;
    pthread_mutex_unlock(&feed->lock);
    return filled;
}

void feed_pause(struct feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->paused = true;
    while (feed->in_hand > 0)
        pthread_cond_wait(&feed->idle, &feed->lock);
    pthread_mutex_unlock(&feed->lock);
}

void feed_continue(struct feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->paused = false;
    pthread_cond_broadcast(&feed->work);
    pthread_mutex_unlock(&feed->lock);
}

void feed_statistics(const struct feed *feed, struct feed_statistics *statistics)
{
    /* the lock is the only thing that asking changes */
    pthread_mutex_t *lock = (pthread_mutex_t *)&feed->lock;
    pthread_mutex_lock(lock);
    *statistics = (struct feed_statistics){
        .waited_seconds = feed->waited_seconds, .skipped = feed->skipped, .bytes = feed->bytes};
    for (size_t i = 0; i < feed->slots; i++)
        statistics->ready += feed->slot[i].state == SLOT_READY;
    pthread_mutex_unlock(lock);
}

size_t feed_batches_per_epoch(const struct feed *feed)
{
    return feed->per_epoch;
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

bool feed_example(const struct dataset *dataset, const struct normalisation *normalisation,
                  size_t index, float *image, float *target, struct error *error)
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
