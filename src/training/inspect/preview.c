/* One lock guards what both threads use: the request, the status, and the pictures that are
 * complete and not taken. The reading thread alone uses the data set and the order of the epoch.
 * Each request has a number; a picture of an older request is discarded when it is complete. */
#include "training/inspect/preview.h"

#include "base/memory.h"
#include "base/threads/detached_task.h"
#include "data/loader/epoch_order.h"
#include "data/loader/mix.h"
#include "data/loader/training_example.h"
#include "models/saved/run_preprocessing.h"
#include "runs/settings/config_data.h"
#include "runs/settings/config_differences.h"
#include "runs/settings/settings.h"

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
    struct dataset_balance counted; /* used by the reading thread */
    uint32_t *order;                /* order for the epoch, seed and sampling below */
    uint64_t order_epoch, order_seed;
    bool ordered, order_balanced;
    struct class_images classes; /* made when balanced sampling is first asked for */
    float *values[2];            /* an example and its partner or target, [C,H,W] */
};

/* --- the set --- */

/* Returns the shape to open the set with. A set of fixed size is shown in its size, even if the
 * network has another input. */
static struct dataset_request choose_shape(const struct preview *preview)
{
    const struct dataset_kind *kind = dataset_kind_of(data_settings(&preview->config).data);
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
    const struct preprocessing own = run_preprocessing_of(&preview->config, NULL).given;
    preview->dataset =
        dataset_open_as(config_training_spec(&preview->config, spec), "train", &shape, &own, error);
    if (!preview->dataset || !count_classes(preview, error))
        return false;
    const struct dataset_facts *facts = dataset_facts(preview->dataset);
    const size_t values = facts->channels * facts->height * facts->width;
    preview->order =
        memory_new(facts->images, sizeof *preview->order, "the order of an epoch", error);
    for (size_t i = 0; i < 2; i++)
        preview->values[i] = memory_new(values, sizeof **preview->values, "a picture", error);
    return preview->order && preview->values[0] && preview->values[1];
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
        preview->facts.broken = NULL; /* the copies that callers get outlive the set */
        preview->balance = preview->counted;
    }
    pthread_mutex_unlock(&preview->lock);
}

/* --- the order --- */

/* Orders the epoch of a request, unless it is that of the last one. */
static bool order_epoch(struct preview *preview, const struct preview_request *request,
                        struct error *error)
{
    const bool balanced = request->balanced && !preview->facts.paired;
    if (preview->ordered && preview->order_epoch == request->epoch &&
        preview->order_seed == request->seed && preview->order_balanced == balanced)
        return true;
    if (balanced && !preview->classes.images &&
        !class_images_make(&preview->classes, preview->dataset, error))
        return false;
    epoch_order_fill(balanced ? &preview->classes : NULL, request->seed, request->epoch,
                     preview->order, preview->facts.images);
    preview->ordered = true;
    preview->order_epoch = request->epoch;
    preview->order_seed = request->seed;
    preview->order_balanced = balanced;
    return true;
}

/* Returns the class of the image at a position of the epoch. */
static const char *class_at(const struct preview *preview, size_t position)
{
    return dataset_class_name(preview->dataset,
                              dataset_label(preview->dataset, preview->order[position]));
}

/* --- as the network sees them --- */

/* Returns the number that an image's random numbers depend on (training_example.h). */
static uint64_t draw_number(const struct preview *preview, size_t position)
{
    return preview->order_balanced ? position : preview->order[position];
}

/* Makes an image of samples of 0..255, to the nearest whole number. */
static bool image_of(const struct dataset_facts *facts, const float *values, struct image *image,
                     struct error *error)
{
    const size_t channels = facts->channels, plane = facts->width * facts->height;
    if (!image_create(image, facts->width, facts->height, channels, error))
        return false;
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < channels; c++)
            image->pixels[i * channels + c] = (uint8_t)(values[c * plane + i] + 0.5f);
    return true;
}

/* Mixes preview->values[0] with its partner in the batch, if it has one, and names both. Images at
 * the end of an epoch that do not fill a batch are not trained on, and not mixed. */
static bool mix_with_partner(struct preview *preview, const struct preview_request *request,
                             const struct example_style *style, size_t position,
                             struct preview_picture *picture, struct error *error)
{
    const struct dataset_facts *facts = &preview->facts;
    const size_t first = request->batch ? position / request->batch * request->batch : 0;
    if (request->batch < 2 || first + request->batch > facts->images)
        return true;
    const size_t other = first + mix_partner(position - first, request->batch);
    const struct example_draw draw = {preview->order[other], request->epoch,
                                      draw_number(preview, other)};
    const struct mix mix = mix_draw(style->augmentation, style->seed, request->epoch,
                                    draw_number(preview, position), facts->width, facts->height);
    if (!training_example_read(style, &draw, preview->values[1], NULL, error))
        return false;
    mix_pair(preview->values[0], &mix, preview->values[1], &mix, facts->channels, facts->height,
             facts->width);
    snprintf(picture->label, sizeof picture->label, "%.0f%% %.34s, %.0f%% %.34s",
             100 * (double)mix.share, class_at(preview, position), 100 * (1 - (double)mix.share),
             class_at(preview, other));
    return true;
}

/* Reads the picture at a position as training would, and the target of a pair. The square that
 * cutout masks with the mean is shown in grey. */
static bool read_as_trained(struct preview *preview, const struct preview_request *request,
                            size_t position, struct preview_picture *picture, struct image *target,
                            struct error *error)
{
    static const struct normalisation samples = {.name = "samples", .deviation = {1, 1, 1}};
    struct sample_table table;
    struct augmentation augmentation;
    if (!augmentation_parse(&augmentation, request->augment, error))
        return false;
    augmentation = augmentation_for(&augmentation, &preview->facts);
    const bool mixes = augmentation_mixes(&augmentation);
    if (!augmentation_check(&augmentation, &preview->facts, request->batch, error))
        return false;
    sample_table_fill(&table, &samples);
    const struct example_style style = {preview->dataset, &augmentation, &samples,
                                        &table,           request->seed, 128};
    const struct example_draw draw = {preview->order[position], request->epoch,
                                      draw_number(preview, position)};
    return training_example_read(&style, &draw, preview->values[0], preview->values[1], error) &&
           (!preview->facts.paired ||
            image_of(&preview->facts, preview->values[1], target, error)) &&
           (!mixes || mix_with_partner(preview, request, &style, position, picture, error)) &&
           image_of(&preview->facts, preview->values[0], &picture->image, error);
}

/* --- one picture --- */

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
    const size_t position = (request->from + place) % preview->facts.images;
    *picture = (struct preview_picture){.place = place};
    bool read = order_epoch(preview, request, &error);
    const size_t index = preview->order[position];
    if (paired)
        snprintf(picture->label, sizeof picture->label, "%zu", index + 1);
    else
        snprintf(picture->label, sizeof picture->label, "%.63s", class_at(preview, position));
    read =
        read &&
        (request->as_trained ? read_as_trained(preview, request, position, picture, &target, &error)
                             : dataset_image(preview->dataset, index, &picture->image,
                                             paired ? &target : NULL, &error)) &&
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
    free(preview->values[0]);
    free(preview->values[1]);
    class_images_free(&preview->classes);
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

/* Returns whether two configurations prepare pictures by the same models and settings. The files
 * are not read again. */
static bool prepares_alike(const struct run_config *a, const struct run_config *b)
{
    static const char *const keys[] = {KEY(filter), KEY(teacher), KEY(weights), NULL};
    for (size_t i = 0; keys[i]; i++)
        if (!config_field_equal(a, b, config_find(keys[i])))
            return false;
    const char *first = network_settings(a).network, *second = network_settings(b).network;
    return strcmp(first, second) == 0 || (!network_is_model(first) && !network_is_model(second));
}

bool preview_is_of(const struct preview *preview, const struct run_config *config,
                   const struct shape *input)
{
    const struct dataset_kind *kind = dataset_kind_of(data_settings(config).data);
    char shown[CONFIG_SPEC], wanted[CONFIG_SPEC];
    if (strcmp(config_training_spec(&preview->config, shown),
               config_training_spec(config, wanted)) != 0 ||
        !prepares_alike(&preview->config, config))
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
