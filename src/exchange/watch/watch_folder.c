/* Folders are entered to a limited depth, and symbolic links to folders are not, so that a loop of
 * links ends. */
#include "exchange/watch/internal.h"

#include "base/files/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MOST = 8, FILES_MOST = 4096, ENTRIES_MOST = 200000 };

struct scan {
    struct watch_files *files;
    size_t entries;
    struct error *error;
};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool is_validation(const char *name)
{
    static const char *const names[] = {"validation", "val",  "valid", "eval",
                                        "evaluation", "test", NULL};
    return is_one_of(name, names);
}

static bool is_part(const char *name)
{
    static const char *const names[] = {"train", "training", NULL};
    return is_validation(name) || is_one_of(name, names);
}

/* Returns the folder of the training to which the files of a folder belong; the caller frees it. */
static char *training_of(const char *folder, unsigned depth, struct error *error)
{
    char *training = memory_copy_text(folder, error);
    char *slash = training ? strrchr(training, '/') : NULL;
    if (slash && slash > training && depth > 0 && is_part(slash + 1))
        *slash = '\0';
    return training;
}

static bool add(struct scan *scan, const char *folder, const char *name, unsigned depth)
{
    struct watch_files *files = scan->files;
    if (!memory_grow(&files->items, &files->capacity, files->count + 1, sizeof *files->items,
                     "the files", scan->error))
        return false;
    struct watch_found *found = &files->items[files->count];
    found->path = file_join(folder, name);
    found->training = training_of(folder, depth, scan->error);
    found->validation = depth > 0 && is_validation(file_base_name(folder));
    files->count++;
    return (found->path && found->training) || error_set_memory(scan->error, "a path", 0);
}

static bool is_event_file(const char *name)
{
    return strstr(name, "tfevents.") && !strstr(name, ".profile-empty");
}

static bool scan_folder(struct scan *scan, const char *folder, unsigned depth);

/* Enters a folder. */
static bool enter(struct scan *scan, const char *folder, const char *name, unsigned depth)
{
    struct stat status;
    char *path = file_join(folder, name);
    if (!path)
        return error_set_memory(scan->error, "a path", 0);
    const bool is_folder = lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    const bool good = !is_folder || depth >= DEPTH_MOST || scan_folder(scan, path, depth + 1);
    free(path);
    return good;
}

static bool take_entries(struct scan *scan, DIR *directory, const char *folder, unsigned depth)
{
    bool good = true, events = false, table = false;
    for (struct dirent *entry; good && (entry = readdir(directory));) {
        const char *name = entry->d_name;
        if (++scan->entries > ENTRIES_MOST || scan->files->count >= FILES_MOST)
            return error_set(scan->error, ERROR_INPUT, folder, "give the folder of one training",
                             "it has too many files");
        if (name[0] == '.')
            continue;
        table |= strcmp(name, "metrics.csv") == 0;
        if (is_event_file(name)) {
            events = true;
            good = add(scan, folder, name, depth);
        } else
            good = enter(scan, folder, name, depth);
    }
    return good && (!table || events || add(scan, folder, "metrics.csv", depth));
}

static bool scan_folder(struct scan *scan, const char *folder, unsigned depth)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return depth > 0 || error_set_errno(scan->error, folder, NULL, "cannot be opened");
    const bool good = take_entries(scan, directory, folder, depth);
    closedir(directory);
    return good;
}

static int compare(const void *a, const void *b)
{
    const struct watch_found *one = a, *other = b;
    const int order = strcmp(one->training, other->training);
    return order ? order : strcmp(one->path, other->path);
}

bool watch_folder_scan(const char *folder, struct watch_files *files, struct error *error)
{
    struct scan scan = {.files = files, .error = error};
    if (!scan_folder(&scan, folder, 0))
        return false;
    if (files->count > 1)
        qsort(files->items, files->count, sizeof *files->items, compare);
    return true;
}

void watch_files_free(struct watch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->items[i].path);
        free(files->items[i].training);
    }
    free(files->items);
    *files = (struct watch_files){0};
}
