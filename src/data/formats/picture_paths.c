#include "data/formats/picture_paths.h"

#include "base/files/file.h"
#include "base/files/user_path.h"
#include "base/memory.h"
#include "data/formats/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

static bool add_folder(struct name_list *paths, const char *folder, int depth, struct error *error)
{
    struct name_list pictures = {0}, folders = {0};
    bool added = depth <= DEEPEST ? scan_folder(folder, &pictures, &folders, error)
                                  : error_set(error, ERROR_INPUT, folder,
                                              "is there a link to a folder above it?",
                                              "more than %d folders are nested", DEEPEST);
    for (size_t i = 0; added && i < pictures.count + folders.count; i++) {
        const bool picture = i < pictures.count;
        char *path =
            file_join(folder, picture ? pictures.name[i] : folders.name[i - pictures.count]);
        added = path ? picture ? name_list_add(paths, path, error)
                               : add_folder(paths, path, depth + 1, error)
                     : error_set_memory(error, "a path", 0);
        free(path);
    }
    name_list_free(&pictures);
    name_list_free(&folders);
    return added;
}

bool picture_paths_add(struct name_list *paths, struct name_list *lists, const char *operand,
                       struct error *error)
{
    static const char list[] = "list:";
    char path[4096];
    if (strncmp(operand, list, strlen(list)) != 0)
        return file_is_directory(operand) ? add_folder(paths, operand, 0, error)
                                          : name_list_add(paths, operand, error);
    const char *name = operand + strlen(list), *home = user_path_home(name);
    snprintf(path, sizeof path, "%s%s", home ? home : "", home ? name + 1 : name);
    return name_list_add(lists, path, error) && list_read_paths(path, paths, error);
}
