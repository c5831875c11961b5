/* Reads the user's pictures, laid out as DIR/CLASS/PICTURE.
 *
 * Each folder in DIR is a class, numbered in the order of the names. If DIR contains pictures
 * itself, it is the only class. DIR may also contain folders train and test that are laid out in
 * this way. A file whose header cannot be read is left out and counted, or is an error with
 * broken=refuse. If a file turns out to be unreadable later, the data loader replaces its image.
 */
#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/image_file.h"
#include "data/formats/scan.h"
#include "data/images/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture {
    char *name;
    uint32_t label;
    struct image_file_cost cost;
};

struct folder {
    char *root;
    struct name_list classes; /* folders in `root`; empty: `root` itself is the only class */
    char *root_name;          /* name of that only class */
    struct picture *pictures;
    size_t capacity;
    struct error first_broken;
};

static size_t label(const struct source *source, size_t index)
{
    const struct folder *folder = source->state;
    return folder->pictures[index].label;
}

static const char *class_name(const struct source *source, size_t number)
{
    const struct folder *folder = source->state;
    return folder->classes.count ? folder->classes.name[number] : folder->root_name;
}

/* Returns the path of a picture, owned by the caller, or NULL if out of memory. */
static char *picture_path(const struct folder *folder, size_t class_number, const char *name)
{
    if (!folder->classes.count)
        return file_join(folder->root, name);
    char *directory = file_join(folder->root, folder->classes.name[class_number]);
    char *path = directory ? file_join(directory, name) : NULL;
    free(directory);
    return path;
}

static void origin(const struct source *source, size_t index, char *text, size_t size)
{
    const struct folder *folder = source->state;
    const struct picture *picture = &folder->pictures[index];
    char *path = picture_path(folder, picture->label, picture->name);
    snprintf(text, size, "%s", path ? path : picture->name);
    free(path);
}

static bool read_image(const struct source *source, size_t index,
                       const struct source_request *request, struct image *image,
                       struct image *target, struct error *error)
{
    (void)target;
    const struct folder *folder = source->state;
    const struct picture *picture = &folder->pictures[index];
    char *path = picture_path(folder, picture->label, picture->name);
    bool read =
        path ? image_file_read_fitted(image, path, request->channels, request->shorter_side, error)
             : error_set_memory(error, "a path", 0);
    free(path);
    return read;
}

static uint64_t decode_bytes(const struct source *source, const struct source_request *request)
{
    const struct folder *folder = source->state;
    uint64_t most = 0;
    for (size_t i = 0; i < source->images; i++) {
        const uint64_t bytes = image_file_decode_bytes(&folder->pictures[i].cost, request->channels,
                                                       request->shorter_side);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static void close_folder(struct source *source)
{
    struct folder *folder = source->state;
    for (size_t i = 0; i < source->images; i++)
        free(folder->pictures[i].name);
    name_list_free(&folder->classes);
    free(folder->pictures);
    free(folder->root_name);
    free(folder->root);
    free(folder);
}

static const struct source_operations operations = {
    .label = label,
    .class_name = class_name,
    .origin = origin,
    .read = read_image,
    .close = close_folder,
    .decode_bytes = decode_bytes,
};

/* --- scanning --- */

/* Checks the header of a picture, and adds it to the list or counts it as skipped. */
static bool take_picture(struct source *source, const struct spec *spec, uint32_t class_number,
                         const char *name, struct error *error)
{
    struct folder *folder = source->state;
    char *path = picture_path(folder, class_number, name);
    if (!path)
        return error_set_memory(error, "a path", 0);
    struct image_file_cost cost;
    struct error broken;
    bool readable = image_file_probe_cost(&cost, path, source->channels, &broken);
    free(path);
    if (!readable) {
        if (source->skipped++ == 0)
            folder->first_broken = broken;
        if (spec->refuse_broken && error)
            *error = broken;
        return !spec->refuse_broken;
    }
    if (!memory_grow(&folder->pictures, &folder->capacity, source->images + 1,
                     sizeof *folder->pictures, "a list of pictures", error))
        return false;
    char *copy = memory_copy_text(name, error);
    if (copy)
        folder->pictures[source->images++] = (struct picture){copy, class_number, cost};
    return copy != NULL;
}

static bool take_class(struct source *source, const struct spec *spec, uint32_t class_number,
                       struct error *error)
{
    struct folder *folder = source->state;
    struct name_list pictures = {0};
    char *path = picture_path(folder, class_number, ".");
    bool taken =
        path ? scan_folder(path, &pictures, NULL, error) : error_set_memory(error, "a path", 0);
    for (size_t i = 0; taken && i < pictures.count; i++)
        taken = take_picture(source, spec, class_number, pictures.name[i], error);
    name_list_free(&pictures);
    free(path);
    return taken;
}

static char *name_of_folder(const char *root, struct error *error)
{
    char *real = realpath(root, NULL);
    char *name = memory_copy_text(file_base_name(real ? real : root), error);
    free(real);
    return name;
}

/* Lists the pictures of all class folders or, if these contain none, those in the root itself. */
static bool take_classes(struct source *source, const struct spec *spec, struct error *error)
{
    struct folder *folder = source->state;
    if (!scan_folder(folder->root, NULL, &folder->classes, error))
        return false;
    for (size_t i = 0; i < folder->classes.count; i++)
        if (!take_class(source, spec, (uint32_t)i, error))
            return false;
    source->classes = folder->classes.count;
    if (source->images > 0)
        return true;
    name_list_free(&folder->classes);
    source->classes = 1;
    folder->root_name = name_of_folder(folder->root, error);
    return folder->root_name && take_class(source, spec, 0, error);
}

static bool check_found(const struct source *source, const struct spec *spec, struct error *error)
{
    const struct folder *folder = source->state;
    if (source->images > 0)
        return source->classes <= SPEC_MAX_CLASSES ||
               error_set(error, ERROR_INPUT, folder->root, "give a folder with one folder a class",
                         "%zu folders: more than %d classes", source->classes, SPEC_MAX_CLASSES);
    if (source->skipped > 0)
        return error_set(error, ERROR_INPUT, spec->directory, "convert the files to PNG or JPEG",
                         "none of its %zu pictures can be read; the first, %s: %s", source->skipped,
                         file_base_name(folder->first_broken.what), folder->first_broken.why);
    return error_set(error, ERROR_INPUT, folder->root, "put one folder of pictures a class there",
                     "no pictures: looked for CLASS/*.png, CLASS/*.jpg, CLASS/*.jpeg and the same "
                     "in the folder itself");
}

bool folder_open(struct source *source, const struct spec *spec, struct error *error)
{
    struct folder *folder = memory_new(1, sizeof *folder, "a data set", error);
    if (!folder)
        return false;
    *source = (struct source){.operations = &operations,
                              .state = folder,
                              .fit = SOURCE_CROP,
                              .channels = 3,
                              .height = 224,
                              .width = 224,
                              .flips = true,
                              .skips = !spec->refuse_broken};
    source->root = folder->root = scan_choose_split(spec, error);
    if (folder->root && take_classes(source, spec, error) && check_found(source, spec, error))
        return true;
    close_folder(source);
    return false;
}
