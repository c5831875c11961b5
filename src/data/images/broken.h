/* broken.h: the names of pictures that could not be read and were left out. */
#ifndef TINCA_DATA_IMAGES_BROKEN_H
#define TINCA_DATA_IMAGES_BROKEN_H

#include "base/error.h"

#include <stddef.h>

enum { BROKEN_NAMED = 1000 }; /* the names of further files are dropped, but counted */

struct broken_file {
    char *path, *why;
};

struct broken_list {
    struct broken_file *file; /* [named] */
    size_t named, capacity;
    size_t count; /* all of them */
};

/* Adds a file that failed with `reason`. Returns false with an error if out of memory. */
bool broken_list_add(struct broken_list *list, const char *path, const struct error *reason,
                     struct error *error);

/* Writes the first names, as many as there is room for, as "a.png (the reason), b.png (...)", and
 * how many more there are. Returns `text`. */
char *broken_list_words(const struct broken_list *list, char *text, size_t size);

/* Frees the list and resets it to {0}. */
void broken_list_free(struct broken_list *list);

#endif
