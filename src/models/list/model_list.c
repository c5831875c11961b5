/* The list is read, changed and replaced as a whole by one process at a time, which has its lock;
 * readers need none, because they see the old list or the new one. */
#include "models/list/model_list.h"

#include "base/files/file.h"
#include "base/files/file_lock.h"
#include "base/text.h"
#include "runs/folder/run_directory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_LIMIT = 4 << 20 /* bytes; a longer list is read as an empty one */ };

void model_list_each(model_list_visit *visit, void *context)
{
    size_t size;
    char *file = run_directory_beside("model-files", NULL), *rest = NULL;
    char *text = file && file_exists(file) ? file_read(file, LIST_LIMIT, &size, NULL) : NULL;
    for (char *path = text ? strtok_r(text, "\n", &rest) : NULL; path;
         path = strtok_r(NULL, "\n", &rest)) {
        char *tab = strchr(path, '\t');
        if (tab)
            *tab = '\0';
        if (path[0] == '/' && file_exists(path) && !file_is_directory(path))
            visit(context, path, tab ? tab + 1 : "");
    }
    free(text);
    free(file);
}

/* A list that is being written. */
struct listing {
    struct text text;
    const char *added;
};

static void copy_line(void *context, const char *path, const char *data)
{
    struct listing *listing = context;
    if (strcmp(path, listing->added) != 0)
        text_append(&listing->text, "%s\t%s\n", path, data);
}

/* Writes the list again, without files that are gone, and adds a file at its end. The list is
 * locked. */
static bool rewrite(const char *file, const char *absolute, const char *data, struct error *error)
{
    struct listing listing = {.added = absolute};
    model_list_each(copy_line, &listing);
    text_append(&listing.text, "%s\t%s\n", absolute, strchr(data, '\n') ? "" : data);
    const bool written =
        listing.text.failed ? error_set_memory(error, "the list of models", 0)
                            : file_write(file, listing.text.data, listing.text.length, true, error);
    text_free(&listing.text);
    return written;
}

/* Locks the list, whose folder is made if it is missing. Returns a descriptor; -1 with an error. */
static int lock_list(const char *file, struct error *error)
{
    char *lock = NULL;
    int descriptor = -1;
    if (file_make_folder_of(file, error)) {
        lock = run_directory_beside("model-files.lock", error);
        descriptor = lock ? file_lock(lock, error) : -1;
    }
    free(lock);
    return descriptor;
}

bool model_list_add(const char *path, const char *data, struct error *error)
{
    char *absolute = realpath(path, NULL), *file = run_directory_beside("model-files", error);
    bool added = file != NULL;
    /* a path with one of these cannot be listed */
    if (added && absolute && !strpbrk(absolute, "\t\n")) {
        const int lock = lock_list(file, error);
        added = lock >= 0 && rewrite(file, absolute, data, error);
        if (lock >= 0)
            close(lock);
    }
    free(absolute);
    free(file);
    return added;
}
