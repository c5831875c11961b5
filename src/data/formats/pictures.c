/* Only names and the cost of decoding are kept; a picture is read from its file each time. */
#include "data/formats/pictures.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

static size_t label(const struct source *source, size_t index)
{
    const struct pictures *pictures = source->state;
    return pictures->item[index].label;
}

static const char *class_name(const struct source *source, size_t number)
{
    const struct pictures *pictures = source->state;
    return pictures->classes.count ? pictures->classes.name[number] : pictures->only_name;
}

/* Returns the path of a picture, owned by the caller, or NULL if out of memory. */
static char *picture_path(const struct pictures *pictures, size_t class_number, const char *name)
{
    if (!pictures->in_folders && name[0] == '/')
        return memory_copy_text(name, NULL);
    if (!pictures->in_folders || !pictures->classes.count)
        return file_join(pictures->root, name);
    char *directory = file_join(pictures->root, pictures->classes.name[class_number]);
    char *path = directory ? file_join(directory, name) : NULL;
    free(directory);
    return path;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct pictures *pictures = source->state;
    const struct picture *picture = &pictures->item[index];
    char *path = picture_path(pictures, picture->label, picture->name);
    snprintf(text, size, "%s", path ? path : picture->name);
    free(path);
}

static bool read_image(const struct source *source, size_t index,
                       const struct source_request *request, struct image *image,
                       struct image *target, struct error *error)
{
    (void)target;
    const struct pictures *pictures = source->state;
    const struct picture *picture = &pictures->item[index];
    char *path = picture_path(pictures, picture->label, picture->name);
    bool read = path ? image_file_prepare(image, path, request->preprocessing, error)
                     : error_set_memory(error, "a path", 0);
    free(path);
    return read;
}

static uint64_t decode_bytes(const struct source *source, const struct source_request *request)
{
    const struct pictures *pictures = source->state;
    uint64_t most = 0;
    for (size_t i = 0; i < source->images; i++) {
        const uint64_t bytes = image_file_decode_bytes(&pictures->item[i].cost, request->channels,
                                                       request->preprocessing);
        most = bytes > most ? bytes : most;
    }
    return most;
}

void pictures_close(struct source *source)
{
    struct pictures *pictures = source->state;
    for (size_t i = 0; i < source->images; i++)
        free(pictures->item[i].name);
    name_list_free(&pictures->classes);
    broken_list_free(&pictures->broken);
    free(pictures->item);
    free(pictures->only_name);
    free(pictures->root);
    free(pictures);
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = pictures_close,
    .decode_bytes = decode_bytes,
};

struct pictures *pictures_create(struct source *source, const struct spec *spec,
                                 struct error *error)
{
    struct pictures *pictures = memory_new(1, sizeof *pictures, "a data set", error);
    *source = (struct source){.operations = &operations,
                              .state = pictures,
                              .fit = SOURCE_CROP,
                              .channels = 3,
                              .height = 224,
                              .width = 224,
                              .flips = true,
                              .skips = !spec->refuse_broken,
                              .broken = pictures ? &pictures->broken : NULL};
    return pictures;
}

bool pictures_add(struct source *source, const char *name, uint32_t class_number,
                  struct error *error)
{
    struct pictures *pictures = source->state;
    char *path = picture_path(pictures, class_number, name);
    if (!path)
        return error_set_memory(error, "a path", 0);
    struct image_file_cost cost;
    struct error broken;
    bool readable = image_file_probe_cost(&cost, path, source->channels, &broken);
    if (!readable) {
        const bool noted = broken_list_add(&pictures->broken, path, &broken, error);
        source->skipped++;
        free(path);
        if (noted && !source->skips && error)
            *error = broken;
        return noted && source->skips;
    }
    free(path);
    source->deep = source->deep || cost.deep;
    if (!memory_grow(&pictures->item, &pictures->capacity, source->images + 1,
                     sizeof *pictures->item, "a list of pictures", error))
        return false;
    char *copy = memory_copy_text(name, error);
    if (copy)
        pictures->item[source->images++] = (struct picture){copy, class_number, cost};
    return copy != NULL;
}
