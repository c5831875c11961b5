#include "session/models/model_list.h"

#include "base/files/file.h"
#include "base/text.h"
#include "session/files/run_directory.h"

#include <stdlib.h>
#include <string.h>

enum { LIST_LIMIT = 4 << 20 /* bytes; a longer list is read as an empty one */ };

void model_list_each(model_list_visit *visit, void *context)
{
    size_t size;
    char *file = run_directory_beside("model-files", NULL), *rest = NULL;
    char *text = file && file_exists(file) ? file_read(file, LIST_LIMIT, &size, NULL) : NULL;
    for (char *path = text ? strtok_r(text, "\n", &rest) : NULL; path;
         path = strtok_r(NULL, "\n", &rest))
        if (path[0] == '/' && file_exists(path) && !file_is_directory(path))
            visit(context, path);
    free(text);
    free(file);
}

/* A list that is being written. */
struct listing {
    struct text text;
    const char *added;
    bool known;
};

static void copy_line(void *context, const char *path)
{
    struct listing *listing = context;
    listing->known |= strcmp(path, listing->added) == 0;
    text_append(&listing->text, "%s\n", path);
}

bool model_list_add(const char *path, struct error *error)
{
    char *absolute = realpath(path, NULL), *file = run_directory_beside("model-files", error);
    struct listing listing = {.added = absolute};
    bool added = file != NULL;
    /* a path with a line break cannot be listed */
    if (added && absolute && !strchr(absolute, '\n')) {
        model_list_each(copy_line, &listing);
        if (!listing.known) {
            copy_line(&listing, absolute);
            added = listing.text.failed
                        ? error_set_memory(error, "the list of models", 0)
                        : file_write(file, listing.text.data, listing.text.length, true, error);
        }
    }
    text_free(&listing.text);
    free(absolute);
    free(file);
    return added;
}
