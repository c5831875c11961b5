/* Adds the values of series, the settings, the pictures and the weights of a run as records. */
#include "training/tensorboard/internal.h"

#include "base/files/file.h"
#include "base/text.h"
#include "data/formats/image_file.h"
#include "models/saved/samples.h"
#include "runs/settings/settings.h"
#include "runs/values/series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 16, VALUE_SIZE = 600 };

static void add_row(struct event_log *log, struct event_time time,
                    const struct series_column *columns, size_t count, const void *row)
{
    struct event_scalar scalars[COLUMNS_MOST];
    size_t used = 0;
    for (size_t i = 0; i < count && used < COLUMNS_MOST; i++)
        if (series_column_has(&columns[i], row))
            scalars[used++] = (struct event_scalar){columns[i].name,
                                                    (float)series_column_value(&columns[i], row)};
    event_log_add_scalars(log, time, scalars, used);
}

void run_records_add_point(struct event_log *log, struct event_time time,
                           const struct series_point *point)
{
    add_row(log, time, series_point_columns, series_point_column_count, point);
}

void run_records_add_validation(struct event_log *log, struct event_time time,
                                const struct series_validation *validation)
{
    add_row(log, time, series_validation_columns, series_validation_column_count, validation);
}

void run_records_add_test(struct event_log *log, struct event_time time,
                          const struct series_validation *row)
{
    add_row(log, time, series_test_columns, series_test_column_count, row);
}

/* --- settings --- */

/* Returns whether a setting is of interest: it is known, applies, has a value, and describes the
 * training. */
static bool is_shown(const struct run_config *config, const struct run_facts *facts,
                     const struct config_field *field)
{
    const char *value = (const char *)config + field->offset;
    return field->key != KEY(tensorboard) && !(field->ignored_by & COMPARE_LABELS) &&
           config_is_known(config, facts->imported, field->key) && config_applies(config, field) &&
           (field->kind != CONFIG_TEXT || value[0]);
}

/* Appends a text to a cell of a Markdown table. */
static void append_cell(struct text *text, const char *value)
{
    for (; *value; value++) {
        if (strchr("|\\`*_<>[]&", *value))
            text_append(text, "\\");
        text_append_bytes(text, (unsigned char)*value < ' ' ? " " : value, 1);
    }
}

static void append_row(struct text *text, const char *key, const char *value)
{
    text_append(text, "| ");
    append_cell(text, key);
    text_append(text, " | ");
    append_cell(text, value);
    text_append(text, " |\n");
}

static void add_table(struct event_log *log, struct event_time time,
                      const struct run_config *config, const struct run_facts *facts)
{
    struct text text = {0};
    char value[VALUE_SIZE];
    text_append(&text, "| setting | value |\n|---|---|\n");
    append_row(&text, "run", facts->id);
    append_row(&text, "created", facts->created);
    snprintf(value, sizeof value, "%zu", facts->parameters);
    if (facts->parameters > 0 || !facts->imported[0])
        append_row(&text, "parameters", value);
    for (size_t i = 0; i < config_field_count; i++)
        if (is_shown(config, facts, &config_fields[i]))
            append_row(&text, config_fields[i].key,
                       config_get(config, config_fields[i].key, value, sizeof value));
    if (text.failed)
        log->lost++;
    else
        event_log_add_text(log, time, "configuration", text.data);
    text_free(&text);
}

static struct event_hparam hparam_of(const struct run_config *config,
                                     const struct config_field *field)
{
    const void *value = (const char *)config + field->offset;
    struct event_hparam hparam = {.name = field->key, .type = EVENT_TEXT, .text = value};
    switch (field->kind) {
    case CONFIG_COUNT:
        hparam.type = EVENT_NUMBER;
        hparam.number = (double)*(const size_t *)value;
        break;
    case CONFIG_NUMBER:
        hparam.type = EVENT_NUMBER;
        hparam.number = *(const double *)value;
        break;
    case CONFIG_FLAG:
        hparam.type = EVENT_FLAG;
        hparam.flag = *(const bool *)value;
        break;
    case CONFIG_CHOICE:
        hparam.text = field->choices[*(const size_t *)value];
        break;
    default:
        break;
    }
    return hparam;
}

void run_records_add_settings(struct event_log *log, struct event_time time,
                              const struct run_config *config, const struct run_facts *facts)
{
    const struct record_settings record = record_settings(config);
    struct event_hparam hparams[EVENT_HPARAMS];
    size_t count = 0;
    for (size_t i = 0; i < config_field_count && count < EVENT_HPARAMS; i++)
        if (is_shown(config, facts, &config_fields[i]))
            hparams[count++] = hparam_of(config, &config_fields[i]);
    event_log_add_hparams(log, time, record.seed_group[0] ? record.seed_group : facts->id, hparams,
                          count);
    add_table(log, time, config, facts);
}

/* --- pictures and weights --- */

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
