/* A detached task reads the folder and looks at each name, so a disk that does not answer leaves at
 * most a thread behind. */
#include "ui/widgets/folder_listing.h"

#include "base/files/file.h"
#include "base/files/lines.h"
#include "base/memory.h"
#include "base/threads/detached_task.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct folder_listing {
    struct detached_task *background; /* used by the caller's thread alone */
    char *path;
    struct folder_name *names;
    size_t count;
};

static void free_listing(void *state)
{
    struct folder_listing *listing = state;
    for (size_t i = 0; i < listing->count; i++)
        free(listing->names[i].name);
    free(listing->names);
    free(listing->path);
    free(listing);
}

/* Adds a name. Returns false if out of memory; the list then ends before it. */
static bool add(struct folder_listing *listing, const char *name, bool is_folder)
{
    if ((listing->count & (listing->count - 1)) == 0) { /* room for a power of two is used up */
        const size_t room = listing->count ? 2 * listing->count : 1;
        struct folder_name *names = realloc(listing->names, room * sizeof *names);
        if (!names)
            return false;
        listing->names = names;
    }
    char *copy = memory_copy_text(name, NULL);
    if (copy)
        listing->names[listing->count++] = (struct folder_name){copy, is_folder};
    return copy;
}

static bool add_file(struct folder_listing *listing, const char *name)
{
    char *path = file_join(listing->path, name);
    const bool added = path && add(listing, name, file_is_directory(path));
    free(path);
    return added;
}

static void list_lines(struct folder_listing *listing)
{
    enum { LINE = 256 };
    struct lines lines;
    size_t length;
    if (!lines_open(&lines, listing->path, LINE, NULL))
        return;
    for (char *line;
         listing->count < FOLDER_LISTING_LINES && (line = lines_next(&lines, &length, NULL));) {
        line[strcspn(line, "\r")] = '\0';
        if (!add(listing, line, false))
            break;
    }
    lines_close(&lines);
}

static int compare(const void *one, const void *other)
{
    const struct folder_name *left = one, *right = other;
    return strcmp(left->name, right->name);
}

static void work(void *state)
{
    struct folder_listing *listing = state;
    DIR *directory = opendir(listing->path);
    if (!directory) {
        list_lines(listing);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !add_file(listing, entry->d_name))
            break;
    closedir(directory);
    if (listing->count > 0)
        qsort(listing->names, listing->count, sizeof *listing->names, compare);
}

struct folder_listing *folder_listing_start(const char *path, struct error *error)
{
    struct folder_listing *listing = memory_new(1, sizeof *listing, path, error);
    if (!listing)
        return NULL;
    listing->path = memory_copy_text(path, error);
    if (listing->path)
        listing->background = detached_task_start(work, free_listing, listing, error);
    if (listing->background)
        return listing;
    free_listing(listing);
    return NULL;
}

const char *folder_listing_path(const struct folder_listing *listing)
{
    return listing->path;
}

bool folder_listing_wait(const struct folder_listing *listing, double seconds)
{
    return detached_task_wait(listing->background, seconds);
}

const struct folder_name *folder_listing_names(const struct folder_listing *listing, size_t *count)
{
    *count = listing->count;
    return listing->names;
}

void folder_listing_drop(struct folder_listing *listing)
{
    if (listing)
        detached_task_drop(listing->background);
}
