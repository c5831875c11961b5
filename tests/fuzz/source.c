#include "source.h"

#include <stdio.h>

static void look_at(const struct source *source, size_t index)
{
    struct error error;
    struct image image;
    const struct preprocessing how = {.channels = source->channels,
                                      .height = 24,
                                      .width = 24,
                                      .stored_height = 28,
                                      .stored_width = 28,
                                      .recorded = true};
    const struct source_request wish = {source->channels, &how};
    char origin[128];
    const size_t label = source->operations->label(source, index);
    if (label >= source->classes)
        __builtin_trap(); /* the data loader relies on this */
    source->operations->class_name(source, label);
    source->operations->origin(source, index, origin, sizeof origin);
    if (source->operations->read(source, index, &wish, &image, NULL, &error))
        image_free(&image);
}

void source_walk(source_open *open, const char *directory)
{
    struct error error;
    struct source source;
    struct spec spec = {0};
    snprintf(spec.directory, sizeof spec.directory, "%s", directory);
    if (!open(&source, &spec, &error))
        return;
    for (size_t i = 0; i < source.images && i < 8; i++)
        look_at(&source, i);
    if (source.images)
        look_at(&source, source.images - 1);
    source.operations->close(&source);
}
