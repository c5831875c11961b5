/* A decode worker: takes a portion of the batch that is being filled, reads, augments and
 * normalises its images, or leaves them as samples, and repeats. internal.h explains the
 * slots and the lock. */
#include "data/loader/internal.h"
#include "data/loader/mix.h"

/* --- places in a batch --- */

/* Returns the place in the whole batch of a place in a slot. The partners of a part are those at
 * the other end of the batch. */
static size_t place_in_batch(const struct data_loader *loader, size_t place)
{
    const struct wanted_part *wanted = &loader->wanted;
    if (place < wanted->count)
        return wanted->first + place;
    return loader->settings.batch - wanted->first - wanted->count + (place - wanted->count);
}

/* Makes the order that of the epoch. The caller holds the lock. */
static void set_order(struct data_loader *loader, uint64_t epoch)
{
    struct current_order *order = &loader->order;
    if (order->valid && order->epoch == epoch)
        return;
    epoch_order_fill(loader->settings.balanced ? &order->classes : NULL, loader->settings.seed,
                     epoch, order->images, dataset_facts(loader->dataset)->images);
    order->epoch = epoch;
    order->valid = true;
}

/* Writes the numbers of the slot's images. The caller holds the lock. */
static void set_indices(struct data_loader *loader, struct slot *slot)
{
    const size_t first = (size_t)slot->number * loader->settings.batch;
    if (loader->settings.training)
        set_order(loader, slot->epoch);
    for (size_t i = 0; i < slot->places; i++) {
        const size_t at = first + place_in_batch(loader, i);
        slot->indices[i] = loader->settings.training ? loader->order.images[at] : (uint32_t)at;
    }
}

/* Opens the next batch's slot and returns it, or NULL if it is in use or its batch is not wanted
 * yet. The caller holds the lock. */
static struct slot *open_slot(struct data_loader *loader)
{
    struct slot *slot = &loader->slot[loader->opened % loader->slots];
    if (slot->state != SLOT_FREE || loader->opened == loader->limit)
        return NULL;
    size_t images = dataset_facts(loader->dataset)->images;
    slot->epoch = loader->opened / loader->per_epoch;
    slot->number =
        loader->opened % loader->per_epoch * loader->wanted.stride + loader->wanted.first_number;
    size_t left = images - (size_t)slot->number * loader->settings.batch;
    slot->count = left < loader->wanted.count ? left : loader->wanted.count;
    slot->places = slot->count + loader->wanted.partners;
    slot->taken = slot->done = 0;
    slot->failed = false;
    slot->state = SLOT_FILLING;
    set_indices(loader, slot);
    loader->opened++;
    return slot;
}

/* --- one image --- */

/* Returns the number that the random numbers of a place depend on. An image may be drawn more than
 * once, so with balanced sampling it is the position in the epoch. */
static uint64_t draw_number(const struct data_loader *loader, const struct slot *slot, size_t place)
{
    const struct data_loader_settings *settings = &loader->settings;
    return settings->balanced ? slot->number * settings->batch + place_in_batch(loader, place)
                              : slot->indices[place];
}

/* Counts and names an unreadable image when it is found for the first time. Without memory for its
 * name it is only counted. */
static void mark_broken(struct data_loader *loader, size_t index, const struct error *reason)
{
    struct skipped_images *skipped = &loader->skipped;
    char origin[512];
    dataset_origin(loader->dataset, index, origin, sizeof origin);
    pthread_mutex_lock(&loader->lock);
    if (!skipped->marks[index]) {
        broken_list_add(&skipped->names, origin, reason, NULL);
        skipped->count++;
    }
    skipped->marks[index] = 1;
    pthread_mutex_unlock(&loader->lock);
}

static bool read_example(const struct data_loader *loader, const struct slot *slot, size_t place,
                         struct error *error)
{
    const struct data_loader_settings *settings = &loader->settings;
    const struct example_style style = {.dataset = loader->dataset,
                                        .augmentation = &settings->augmentation,
                                        .normalisation = &settings->normalisation,
                                        .table = &loader->table,
                                        .seed = settings->seed};
    const struct example_draw draw = {slot->indices[place], slot->epoch,
                                      draw_number(loader, slot, place)};
    const size_t at = place * loader->image_values;
    if (loader->samples)
        return training_example_read_samples(
            &style, &draw, slot->image_samples + at,
            slot->target_samples ? slot->target_samples + at : NULL, error);
    return training_example_read(&style, &draw, slot->images + at,
                                 slot->targets ? slot->targets + at : NULL, error);
}

/* Fills one place of a batch. If its image is unreadable and the data set skips such images, the
 * next readable image of the set takes its place. */
static bool fill_place(struct data_loader *loader, struct slot *slot, size_t place,
                       struct error *error)
{
    size_t images = dataset_facts(loader->dataset)->images;
    for (size_t tries = 0;; tries++) {
        size_t index = slot->indices[place];
        if (read_example(loader, slot, place, error))
            break;
        if (!loader->skipped.marks || error->kind == ERROR_MEMORY || tries + 1 >= images)
            return false;
        mark_broken(loader, index, error);
        slot->indices[place] = (uint32_t)((index + 1) % images);
    }
    slot->labels[place] = (int32_t)dataset_label(loader->dataset, slot->indices[place]);
    return true;
}

/* --- mixing --- */

/* Mixes the images of a complete batch in pairs, and sets the labels and shares. The images of a
 * part and their partners are mirrored in the slot as those of a whole batch are in it. */
static void mix_batch(const struct data_loader *loader, struct slot *slot)
{
    const struct data_loader_settings *settings = &loader->settings;
    const struct dataset_facts *facts = dataset_facts(loader->dataset);
    for (size_t i = 0; i < slot->count; i++) {
        const size_t j = mix_partner(i, slot->places);
        struct mix mixes[2];
        if (j < i)
            break; /* the pair is mixed */
        for (size_t k = 0; k < 2; k++) {
            const size_t place = k ? j : i;
            mixes[k] = mix_draw(&settings->augmentation, settings->seed, slot->epoch,
                                draw_number(loader, slot, place), facts->width, facts->height);
            slot->partner_labels[place] = slot->labels[k ? i : j];
            slot->shares[place] = mixes[k].share;
        }
        if (j != i)
            mix_pair(slot->images + i * loader->image_values, &mixes[0],
                     slot->images + j * loader->image_values, &mixes[1], facts->channels,
                     facts->height, facts->width);
    }
}

/* --- portions --- */

/* The places [begin, end) of a batch, which one worker fills. */
struct portion {
    struct slot *slot;
    size_t begin, end;
};

/* Takes the next portion; returns false if there is no work now. The caller holds the lock. */
static bool take_portion(struct data_loader *loader, struct portion *portion)
{
    struct slot *slot = NULL;
    if (loader->paused)
        return false;
    if (loader->opened > loader->next) {
        slot = &loader->slot[(loader->opened - 1) % loader->slots];
        if (slot->state != SLOT_FILLING || slot->taken == slot->places)
            slot = NULL;
    }
    if (!slot && !(slot = open_slot(loader)))
        return false;
    portion->slot = slot;
    portion->begin = slot->taken;
    portion->end =
        slot->places - slot->taken < loader->portion ? slot->places : slot->taken + loader->portion;
    slot->taken = portion->end;
    loader->in_progress++;
    return true;
}

/* Records that a portion is complete or has failed. The caller holds the lock, which is released
 * while the images of a complete batch are mixed. */
static void finish_portion(struct data_loader *loader, const struct portion *portion, bool filled,
                           const struct error *error)
{
    struct slot *slot = portion->slot;
    /* several failures: report the first in the batch's order, not the first in time */
    if (!filled && (!slot->failed || portion->begin < slot->failed_at)) {
        slot->failed = true;
        slot->failed_at = portion->begin;
        slot->error = *error;
    }
    slot->done += portion->end - portion->begin;
    const bool complete = slot->done == slot->places;
    if (complete && loader->mixes && !slot->failed) {
        pthread_mutex_unlock(&loader->lock);
        mix_batch(loader, slot);
        pthread_mutex_lock(&loader->lock);
    }
    if (--loader->in_progress == 0)
        pthread_cond_signal(&loader->idle);
    if (complete) {
        slot->state = SLOT_READY;
        pthread_cond_signal(&loader->ready);
    }
}

void *decode_worker_run(void *context)
{
    struct data_loader *loader = context;
    struct portion portion;
    struct error error;
    pthread_mutex_lock(&loader->lock);
    while (!loader->closing) {
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
