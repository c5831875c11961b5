#include "data/formats/stored.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stored *stored_create(struct source *source, struct error *error)
{
    struct stored *stored = memory_new(1, sizeof *stored, "a data set", error);
    *source = (struct source){
        .operations = &stored_operations, .state = stored, .fit = SOURCE_FIXED, .quick = true};
    return stored;
}

static size_t label(const struct source *source, size_t index)
{
    const struct stored *stored = source->state;
    return stored->labels[index];
}

static const char *class_name(const struct source *source, size_t number)
{
    const struct stored *stored = source->state;
    if (stored->own_names && stored->own_names[number * STORED_NAME_SIZE])
        return stored->own_names + number * STORED_NAME_SIZE;
    return stored->names ? stored->names[number] : NULL;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct stored *stored = source->state;
    size_t part = stored->parts - 1;
    while (part > 0 && stored->part[part].first > index)
        part--;
    snprintf(text, size, "record %zu of %s", index - stored->part[part].first,
             file_base_name(stored->part[part].path));
}

static bool read_image(const struct source *source, size_t index, const struct source_request *wish,
                       struct image *image, struct image *target, struct error *error)
{
    (void)wish;
    (void)target;
    const struct stored *stored = source->state;
    if (!image_create(image, source->width, source->height, source->channels, error))
        return false;
    size_t bytes = source->width * source->height * source->channels;
    memcpy(image->pixels, stored->pixels + index * bytes, bytes);
    return true;
}

static void close_stored(struct source *source)
{
    struct stored *stored = source->state;
    if (!stored)
        return;
    for (size_t i = 0; i < stored->parts; i++)
        free(stored->part[i].path);
    free(stored->pixels);
    free(stored->labels);
    free(stored->own_names);
    free(stored);
    source->state = NULL;
}

const struct source_operations stored_operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = close_stored,
};
