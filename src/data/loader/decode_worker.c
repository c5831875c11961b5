/* A decode worker: takes a portion of the batch that is being filled, reads, crops and normalises
 * its images, and repeats. prefetch_queue.h explains the slots and the lock. */
#include "base/random.h"
#include "data/loader/prefetch_queue.h"

/* --- what is in a batch --- */

/* Writes the numbers of the slot's images. The caller holds the lock. */
static void set_indices(struct data_loader *loader, struct slot *slot)
{
    size_t first = (size_t)slot->number * loader->settings.batch;
    if (loader->settings.training && (!loader->order_valid || loader->order_epoch != slot->epoch)) {
        random_permutation(loader->settings.seed, RANDOM_ORDER, (uint32_t)slot->epoch,
                           loader->order, dataset_facts(loader->dataset)->images);
        loader->order_epoch = slot->epoch;
        loader->order_valid = true;
    }
    for (size_t i = 0; i < slot->count; i++)
        slot->indices[i] =
            loader->settings.training ? loader->order[first + i] : (uint32_t)(first + i);
}

/* Returns the next batch's slot, opened, or NULL if it is in use or its batch is not wanted yet.
 * The caller holds the lock. */
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

/* --- one image --- */

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

/* Counts and names an unreadable image the first time that it is met. Without memory for its name
 * it is only counted. */
static void mark_broken(struct data_loader *loader, size_t index, const struct error *reason)
{
    char origin[512];
    dataset_origin(loader->dataset, index, origin, sizeof origin);
    pthread_mutex_lock(&loader->lock);
    loader->skipped += !loader->broken[index];
    if (!loader->broken[index])
        broken_list_add(&loader->names, origin, reason, NULL);
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

/* Fills one place of a batch. If its image is unreadable and the data set skips such images, the
 * next readable image of the set takes its place. */
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
        mark_broken(loader, index, error);
        slot->indices[place] = (uint32_t)((index + 1) % images);
    }
    write_example(loader, slot, place, &image, &target);
    slot->labels[place] = (int32_t)dataset_label(loader->dataset, slot->indices[place]);
    image_free(&image);
    image_free(&target);
    return true;
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
    loader->in_progress++;
    return true;
}

/* Records that a portion is complete or has failed. The caller holds the lock. */
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
    if (--loader->in_progress == 0)
        pthread_cond_signal(&loader->idle);
    slot->done += portion->end - portion->begin;
    if (slot->done == slot->count) {
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
