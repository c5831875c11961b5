/* Lists folders and finds the folder of a split. The order of the images depends on these lists,
 * and so do the results of a seed: that is why names are sorted by bytes, not by the locale. */
#include "data/formats/scan.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

void name_list_free(struct name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct name_list){0};
}

bool name_list_add(struct name_list *list, const char *name, struct error *error)
{
    if (!memory_grow(&list->name, &list->capacity, list->count + 1, sizeof *list->name,
                     "a list of files", error))
        return false;
    list->name[list->count] = memory_copy_text(name, error);
    return list->name[list->count++] != NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_picture(const char *name)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcasecmp(name + length - ending, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool take_entry(int directory, const char *name, struct name_list *pictures,
                       struct name_list *folders, struct error *error)
{
    struct stat status;
    if (name[0] == '.' || fstatat(directory, name, &status, 0) != 0)
        return true; /* hidden, removed meanwhile, or a dangling link */
    if (folders && S_ISDIR(status.st_mode))
        return name_list_add(folders, name, error);
    if (pictures && S_ISREG(status.st_mode) && is_picture(name))
        return name_list_add(pictures, name, error);
    return true;
}

bool scan_folder(const char *path, struct name_list *pictures, struct name_list *folders,
                 struct error *error)
{
    DIR *directory = opendir(path);
    if (!directory)
        return error_set_errno(error, path, "give a folder of pictures", "cannot open the folder");
    bool taken = true;
    struct dirent *entry;
    errno = 0;
    while (taken && (entry = readdir(directory))) {
        taken = take_entry(dirfd(directory), entry->d_name, pictures, folders, error);
        errno = 0;
    }
    if (taken && errno)
        taken = error_set_errno(error, path, NULL, "reading the folder failed");
    closedir(directory);
    if (pictures && pictures->count)
        qsort(pictures->name, pictures->count, sizeof *pictures->name, compare_names);
    if (folders && folders->count)
        qsort(folders->name, folders->count, sizeof *folders->name, compare_names);
    return taken;
}

/* --- splits --- */

static const char *const split_names[2][3] = {{"train"}, {"test", "val", "validation"}};

static bool is_split_name(const char *name)
{
    for (int test = 0; test < 2; test++)
        for (int i = 0; i < 3 && split_names[test][i]; i++)
            if (strcmp(name, split_names[test][i]) == 0)
                return true;
    return false;
}

static bool holds_splits(const struct name_list *pictures, const struct name_list *folders)
{
    for (size_t i = 0; i < folders->count; i++)
        if (!is_split_name(folders->name[i]))
            return false;
    return folders->count > 0 && pictures->count == 0;
}

static char *split_folder(const struct spec *spec, struct error *error)
{
    for (int i = 0; i < 3 && split_names[spec->test][i]; i++) {
        char *path = file_join(spec->directory, split_names[spec->test][i]);
        if (path && file_is_directory(path))
            return path;
        free(path);
    }
    error_set(error, ERROR_INPUT, spec->directory, "name the other split, or another folder",
              "there is no %s folder in it", spec->test ? "test (or val)" : "train");
    return NULL;
}

char *scan_choose_split(const struct spec *spec, struct error *error)
{
    struct name_list pictures = {0}, folders = {0};
    char *chosen = NULL;
    if (file_exists(spec->directory) && !file_is_directory(spec->directory))
        error_set(error, ERROR_INPUT, spec->directory, "give the folder that it is in",
                  "this is a file, and no folder of pictures");
    else if (!file_is_directory(spec->directory))
        error_set(error, ERROR_INPUT, spec->directory, "check the path",
                  "there is no such folder (looked for folders of *.png, *.jpg and *.jpeg in it)");
    else if (!scan_folder(spec->directory, &pictures, &folders, error))
        ; /* `error` is set */
    else if (holds_splits(&pictures, &folders))
        chosen = split_folder(spec, error);
    else if (spec->split_given)
        error_set(error, ERROR_INPUT, spec->directory, "leave out split=, or name another folder",
                  "split=%s: the folder is not divided into train and test",
                  spec->test ? "test" : "train");
    else
        chosen = memory_copy_text(spec->directory, error);
    name_list_free(&pictures);
    name_list_free(&folders);
    return chosen;
}
