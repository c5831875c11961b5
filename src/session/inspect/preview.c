/* One lock guards what both threads use: the request, the status, and the pictures that are
 * complete and not taken. The reading thread alone uses the data set and the order of the epoch.
 * Each request has a number; a picture of an older request is discarded when it is complete. */
#include "session/inspect/preview.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/threads/detached_task.h"
#include "data/loader/augment.h"
#include "session/config/config_data.h"
#include "session/config/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct preview {
    struct detached_task *background;
    struct run_config config;
    struct shape input; /* zeros: not known */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool closing;
    enum preview_status status;
    struct error error;
    struct dataset_facts facts;
    struct dataset_balance balance; /* without the counts of the single classes */
    struct preview_request request;
    size_t request_number, read; /* pictures of the request that were read */
    struct preview_picture ready[PREVIEW_MAX_PICTURES];
    size_t ready_count, taken;

    struct dataset *dataset;
    struct dataset_balance counted; /* the reading thread's */
    uint32_t *order;                /* order for the epoch and seed below */
    uint64_t order_epoch, order_seed;
    bool ordered;
};

/* --- the set --- */

/* Returns the shape to open the set with. A set of fixed size is shown in its size, even if the
 * network has another input. */
static struct dataset_request choose_shape(const struct preview *preview)
{
    const struct dataset_kind *kind = dataset_kind_of(preview->config.data);
    const struct shape *input = &preview->input;
    if (kind && kind->height)
        return (struct dataset_request){kind->channels, kind->height, kind->width};
    if (input->height)
        return (struct dataset_request){input->channels, input->height, input->width};
    return (struct dataset_request){3, 224, 224};
}

/* Counts the images of the classes. */
static bool count_classes(struct preview *preview, struct error *error)
{
    struct dataset_balance *balance = &preview->counted;
    const bool counted = dataset_count_classes(preview->dataset, balance, error);
    free(balance->images);
    balance->images = NULL;
    return counted;
}

static bool open_set(struct preview *preview, struct error *error)
{
    const struct dataset_request shape = choose_shape(preview);
    char spec[CONFIG_SPEC];
    preview->dataset =
        dataset_open(config_training_spec(&preview->config, spec), "train", &shape, error);
    if (!preview->dataset || !count_classes(preview, error))
        return false;
    preview->order = memory_new(dataset_facts(preview->dataset)->images, sizeof *preview->order,
                                "the order of an epoch", error);
    return preview->order;
}

/* Opens the set and publishes the status. */
static void open_and_publish(struct preview *preview)
{
    struct error error = {0};
    bool opened = open_set(preview, &error);
    pthread_mutex_lock(&preview->lock);
    preview->status = opened ? PREVIEW_OPENED : PREVIEW_FAILED;
    preview->error = error;
    if (opened) {
        preview->facts = *dataset_facts(preview->dataset);
        preview->facts.broken = NULL; /* the copies that are given away outlive the set */
        preview->balance = preview->counted;
    }
    pthread_mutex_unlock(&preview->lock);
}

/* --- one picture --- */

static size_t index_at(struct preview *preview, const struct preview_request *request, size_t place)
{
    const size_t images = preview->facts.images;
    if (!preview->ordered || preview->order_epoch != request->epoch ||
        preview->order_seed != request->seed) {
        random_permutation(request->seed, RANDOM_ORDER, (uint32_t)request->epoch, preview->order,
                           images);
        preview->ordered = true;
        preview->order_epoch = request->epoch;
        preview->order_seed = request->seed;
    }
    return preview->order[(request->from + place) % images];
}

/* Crops the image and its target, in place, to the window that training would use. */
static bool crop_as_trained(const struct preview *preview, const struct preview_request *request,
                            size_t index, struct image *image, struct image *target,
                            struct error *error)
{
    struct run_config config = preview->config;
    config.augment = request->augment;
    const struct crop_draw draw = {request->augment, settings_pad(&config, &preview->facts),
                                   request->seed, request->epoch};
    const struct crop crop = crop_for_training(preview->dataset, image, &draw, index);
    struct image *both[] = {image, target};
    for (int i = 0; i < 2 && both[i]->pixels; i++) {
        struct image part = {0};
        if (!crop_cut(&part, both[i], &crop, error))
            return false;
        image_free(both[i]);
        *both[i] = part;
    }
    return true;
}

/* Joins the two images of a pair side by side, in `left`. */
static bool join(struct image *left, const struct image *right, struct error *error)
{
    struct image joined = {0};
    const size_t row = left->width * left->channels;
    if (right->width != left->width || right->height != left->height ||
        right->channels != left->channels)
        return true; /* show the input alone */
    if (!image_create(&joined, 2 * left->width, left->height, left->channels, error))
        return false;
    for (size_t y = 0; y < left->height; y++) {
        memcpy(joined.pixels + 2 * y * row, left->pixels + y * row, row);
        memcpy(joined.pixels + (2 * y + 1) * row, right->pixels + y * row, row);
    }
    image_free(left);
    *left = joined;
    return true;
}

static void read_picture(struct preview *preview, const struct preview_request *request,
                         size_t place, struct preview_picture *picture)
{
    struct image target = {0};
    struct error error = {0};
    const bool paired = preview->facts.paired;
    const size_t index = index_at(preview, request, place);
    *picture = (struct preview_picture){.place = place};
    if (paired)
        snprintf(picture->label, sizeof picture->label, "%zu", index + 1);
    else
        snprintf(picture->label, sizeof picture->label, "%.63s",
                 dataset_class_name(preview->dataset, dataset_label(preview->dataset, index)));
    bool read =
        dataset_image(preview->dataset, index, &picture->image, paired ? &target : NULL, &error) &&
        (!request->as_trained ||
         crop_as_trained(preview, request, index, &picture->image, &target, &error)) &&
        (!paired || join(&picture->image, &target, &error));
    image_free(&target);
    if (read)
        return;
    image_free(&picture->image);
    snprintf(picture->why, sizeof picture->why, "%.239s", error.why);
}

/* --- the thread --- */

static bool has_work(const struct preview *preview)
{
    return preview->facts.images > 0 && preview->read < preview->request.count;
}

/* Reads the next picture. The caller holds the lock, which is released while the picture is read.
 */
static void read_next(struct preview *preview)
{
    struct preview_picture picture;
    const struct preview_request request = preview->request;
    const size_t number = preview->request_number, place = preview->read;
    pthread_mutex_unlock(&preview->lock);
    read_picture(preview, &request, place, &picture);
    pthread_mutex_lock(&preview->lock);
    if (number != preview->request_number || preview->closing) {
        image_free(&picture.image);
        return;
    }
    preview->ready[preview->ready_count++] = picture;
    preview->read++;
}

static void work(void *state)
{
    struct preview *preview = state;
    open_and_publish(preview);
    pthread_mutex_lock(&preview->lock);
    while (!preview->closing && preview->status == PREVIEW_OPENED) {
        if (has_work(preview))
            read_next(preview);
        else
            pthread_cond_wait(&preview->changed, &preview->lock);
    }
    pthread_mutex_unlock(&preview->lock);
}

/* --- the caller's side --- */

static void forget_ready(struct preview *preview)
{
    for (size_t i = preview->taken; i < preview->ready_count; i++)
        image_free(&preview->ready[i].image);
    preview->ready_count = preview->taken = 0;
}

static void free_preview(void *state)
{
    struct preview *preview = state;
    forget_ready(preview);
    dataset_free(preview->dataset);
    free(preview->order);
    pthread_cond_destroy(&preview->changed);
    pthread_mutex_destroy(&preview->lock);
    free(preview);
}

struct preview *preview_open(const struct run_config *config, const struct shape *input,
                             struct error *error)
{
    struct preview *preview = memory_new(1, sizeof *preview, "a preview", error);
    if (!preview)
        return NULL;
    preview->config = *config;
    if (input)
        preview->input = *input;
    pthread_mutex_init(&preview->lock, NULL);
    pthread_cond_init(&preview->changed, NULL);
    preview->background = detached_task_start(work, free_preview, preview, error);
    if (preview->background)
        return preview;
    free_preview(preview);
    return NULL;
}

void preview_close(struct preview *preview)
{
    if (!preview)
        return;
    struct detached_task *background = preview->background;
    pthread_mutex_lock(&preview->lock);
    preview->closing = true;
    pthread_cond_signal(&preview->changed);
    pthread_mutex_unlock(&preview->lock);
    detached_task_drop(background);
}

bool preview_is_of(const struct preview *preview, const struct run_config *config,
                   const struct shape *input)
{
    const struct dataset_kind *kind = dataset_kind_of(config->data);
    char shown[CONFIG_SPEC], wanted[CONFIG_SPEC];
    if (strcmp(config_training_spec(&preview->config, shown),
               config_training_spec(config, wanted)) != 0)
        return false;
    if (!input || (kind && kind->height)) /* the network is unknown or has no influence */
        return true;
    return preview->input.channels == input->channels && preview->input.height == input->height &&
           preview->input.width == input->width;
}

enum preview_status preview_status(struct preview *preview, struct dataset_facts *facts,
                                   struct error *error)
{
    pthread_mutex_lock(&preview->lock);
    const enum preview_status status = preview->status;
    *facts = preview->facts;
    *error = preview->error;
    pthread_mutex_unlock(&preview->lock);
    return status;
}

struct dataset_balance preview_balance(struct preview *preview)
{
    pthread_mutex_lock(&preview->lock);
    const struct dataset_balance balance = preview->balance;
    pthread_mutex_unlock(&preview->lock);
    return balance;
}

void preview_request_pictures(struct preview *preview, const struct preview_request *request)
{
    pthread_mutex_lock(&preview->lock);
    forget_ready(preview);
    preview->request = *request;
    if (preview->request.count > PREVIEW_MAX_PICTURES)
        preview->request.count = PREVIEW_MAX_PICTURES;
    preview->request_number++;
    preview->read = 0;
    pthread_cond_signal(&preview->changed);
    pthread_mutex_unlock(&preview->lock);
}

bool preview_take(struct preview *preview, struct preview_picture *picture)
{
    pthread_mutex_lock(&preview->lock);
    const bool any = preview->taken < preview->ready_count;
    if (any)
        *picture = preview->ready[preview->taken++];
    pthread_mutex_unlock(&preview->lock);
    return any;
}

bool preview_is_busy(struct preview *preview)
{
    pthread_mutex_lock(&preview->lock);
    const bool busy = preview->status == PREVIEW_OPENING ||
                      (preview->status == PREVIEW_OPENED &&
                       (has_work(preview) || preview->taken < preview->ready_count));
    pthread_mutex_unlock(&preview->lock);
    return busy;
}
