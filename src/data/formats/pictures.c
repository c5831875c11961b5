/* Keeps only names and the cost of decoding; a picture is read from its file each time. */
#include "data/formats/internal.h"

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

/* Reads the user's pictures, laid out as DIR/CLASS/PICTURE.
 *
 * Each folder in DIR is a class, numbered in the order of the names. If DIR contains pictures
 * itself, it is the only class. DIR may also contain folders train and test that are laid out in
 * this way.
 */

/* Returns the folder of a class, owned by the caller, or NULL if out of memory. */
static char *class_folder(const struct pictures *pictures, size_t class_number)
{
    return pictures->classes.count ? file_join(pictures->root, pictures->classes.name[class_number])
                                   : memory_copy_text(pictures->root, NULL);
}

static bool take_class(struct source *source, uint32_t class_number, struct error *error)
{
    struct pictures *pictures = source->state;
    struct name_list names = {0};
    char *path = class_folder(pictures, class_number);
    bool taken =
        path ? scan_folder(path, &names, NULL, error) : error_set_memory(error, "a path", 0);
    for (size_t i = 0; taken && i < names.count; i++)
        taken = pictures_add(source, names.name[i], class_number, error);
    name_list_free(&names);
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
static bool take_classes(struct source *source, struct error *error)
{
    struct pictures *pictures = source->state;
    if (!scan_folder(pictures->root, NULL, &pictures->classes, error))
        return false;
    for (size_t i = 0; i < pictures->classes.count; i++)
        if (!take_class(source, (uint32_t)i, error))
            return false;
    source->classes = pictures->classes.count;
    if (source->images > 0)
        return true;
    name_list_free(&pictures->classes);
    source->classes = 1;
    pictures->only_name = name_of_folder(pictures->root, error);
    return pictures->only_name && take_class(source, 0, error);
}

static bool check_found(const struct source *source, const struct spec *spec, struct error *error)
{
    const struct pictures *pictures = source->state;
    if (source->images > 0)
        return source->classes <= SPEC_MAX_CLASSES ||
               error_set(error, ERROR_INPUT, pictures->root,
                         "give a folder with one folder a class",
                         "%zu folders: more than %d classes", source->classes, SPEC_MAX_CLASSES);
    if (source->skipped > 0)
        return error_set(error, ERROR_INPUT, spec->directory, "convert the files to PNG or JPEG",
                         "none of its %zu pictures can be read; the first, %s: %s", source->skipped,
                         file_base_name(pictures->broken.file[0].path),
                         pictures->broken.file[0].why);
    return error_set(error, ERROR_INPUT, pictures->root, "put one folder of pictures a class there",
                     "no pictures: looked for CLASS/*.png, CLASS/*.jpg, CLASS/*.jpeg and the same "
                     "in the folder itself");
}

bool folder_open(struct source *source, const struct spec *spec, struct error *error)
{
    struct pictures *pictures = pictures_create(source, spec, error);
    if (!pictures)
        return false;
    pictures->in_folders = true;
    source->root = pictures->root = scan_choose_split(spec, error);
    if (pictures->root && take_classes(source, error) && check_found(source, spec, error))
        return true;
    pictures_close(source);
    return false;
}

/* Returns whether a folder has pictures, readable or not. */
static bool has_pictures(const char *path)
{
    struct name_list names = {0};
    const bool has = path && scan_folder(path, &names, NULL, NULL) && names.count > 0;
    name_list_free(&names);
    return has;
}

size_t folder_classes(const struct spec *spec)
{
    struct name_list folders = {0};
    char *root = scan_choose_split(spec, NULL);
    size_t classes = 0;
    if (root && scan_folder(root, NULL, &folders, NULL))
        classes = folders.count <= SPEC_MAX_CLASSES ? folders.count : 0;
    bool found = false;
    for (size_t i = 0; i < classes && !found; i++) {
        char *path = file_join(root, folders.name[i]);
        found = has_pictures(path);
        free(path);
    }
    if (!found)
        classes = has_pictures(root);
    name_list_free(&folders);
    free(root);
    return classes;
}
