/* Adds the pictures and the weights of a run as records. */
#include "base/files/file.h"
#include "data/formats/image_file.h"
#include "models/saved/samples.h"
#include "training/tensorboard/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES_MOST = 8, PICTURE_LIMIT = 64 << 20 };

static void add_picture(struct event_log *log, struct event_time time, const char *tag,
                        const struct image *picture, const char *description)
{
    struct error unwritten;
    struct event_image image = {.width = picture->width,
                                .height = picture->height,
                                .channels = picture->channels,
                                .description = description};
    void *png = image_file_encode_png(picture, &image.bytes, &unwritten);
    image.png = png;
    if (png)
        event_log_add_image(log, time, tag, &image);
    else
        log->lost++;
    free(png);
}

/* Copies 8-bit samples [C, H, W] into an RGB picture. */
static void copy_samples(struct image *picture, struct shape shape, const uint8_t *samples)
{
    const size_t plane = shape.height * shape.width;
    for (size_t i = 0; i < plane; i++)
        for (size_t c = 0; c < 3; c++)
            picture->pixels[i * 3 + c] = samples[(shape.channels == 1 ? 0 : c) * plane + i];
}

void run_records_add_batch(struct event_log *log, struct event_time time,
                           const struct preparation *prepared, const struct execution_batch *batch)
{
    const struct shape shape = prepared->network->input;
    const size_t values = shape_count(shape);
    struct image picture;
    struct error no_memory;
    char tag[32];
    if (shape.channels != 1 && shape.channels != 3)
        return;
    if (!image_create(&picture, shape.width, shape.height, 3, &no_memory)) {
        log->lost++;
        return;
    }
    for (size_t i = 0; i < batch->count && i < IMAGES_MOST; i++) {
        if (batch->image_samples)
            copy_samples(&picture, shape, batch->image_samples + i * values);
        else
            picture_paste(&picture, 0, 0, &prepared->preprocessing.normalisation, shape,
                          batch->images + i * values);
        snprintf(tag, sizeof tag, "samples/%zu", i);
        add_picture(log, time, tag, &picture,
                    batch->labels ? dataset_class_name(prepared->data, (size_t)batch->labels[i])
                                  : NULL);
    }
    image_free(&picture);
}

void run_records_add_generated(struct event_log *log, struct event_time time, const char *path)
{
    struct image picture;
    struct event_image image = {.channels = 3};
    struct error unread;
    char *png = file_read(path, PICTURE_LIMIT, &image.bytes, &unread);
    if (png && image_file_probe(&picture, path, &unread)) {
        image.png = png;
        image.width = picture.width;
        image.height = picture.height;
        event_log_add_image(log, time, "generated", &image);
    }
    free(png);
}

void run_records_add_weights(struct event_log *log, struct event_time time, const char *prefix,
                             const struct weights *weights)
{
    char tag[160];
    for (size_t i = 0; i < weights->graph->parameter_count; i++) {
        const struct parameter *parameter = &weights->graph->parameters[i];
        if (!parameter->learnable)
            continue;
        snprintf(tag, sizeof tag, "%s/%s", prefix, parameter->name);
        event_log_add_histogram(log, time, tag, weights->values + parameter->offset,
                                parameter->count);
    }
}
