/* short_names.h: the names of a list, shortened to a width so that different names stay different.
 * No drawing. */
#ifndef TINCA_UI_WIDGETS_SHORT_NAMES_H
#define TINCA_UI_WIDGETS_SHORT_NAMES_H

#include <stddef.h>

enum { SHORT_NAME_SIZE = 128 };

struct short_names { /* starts as {0} */
    char *texts;     /* count texts of SHORT_NAME_SIZE bytes; NULL: out of memory */
    size_t count;
};

/* Writes name `index` of the list into `text`. */
typedef void short_names_writer(const void *context, size_t index, char *text, size_t size);

/* Makes the list of `count` names, each at most `columns` wide; `mark` (one column) stands where
 * something was left out. Free it with short_names_free. */
void short_names_make(struct short_names *list, size_t count, int columns, const char *mark,
                      short_names_writer *writer, const void *context);
/* Returns name `index` shortened, or `name` itself if there was no memory for the list. */
const char *short_names_get(const struct short_names *list, size_t index, const char *name);
/* Frees the list. */
void short_names_free(struct short_names *list);

#endif
