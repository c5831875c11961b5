/* Reads the user's pictures, laid out as DIR/CLASS/PICTURE.
 *
 * Each folder in DIR is a class, numbered in the order of the names. If DIR contains pictures
 * itself, it is the only class. DIR may also contain folders train and test that are laid out in
 * this way.
 */
#include "base/files/file.h"
#include "base/memory.h"
#include "data/formats/pictures.h"

#include <stdlib.h>

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
