/* saved_views.h: the views of the run table that the user has saved under a name, and the columns
 * chosen by hand, in $XDG_CONFIG_HOME/tinca/views.json. No drawing. */
#ifndef TINCA_UI_SCREENS_RUNS_SAVED_VIEWS_H
#define TINCA_UI_SCREENS_RUNS_SAVED_VIEWS_H

#include "base/error.h"
#include "ui/screens/runs/runs_columns.h"

#include <stdbool.h>
#include <stddef.h>

enum { VIEWS_MAX = 32, VIEW_NAME = 48, VIEW_FILTER = 512 };

struct saved_view {
    char name[VIEW_NAME];
    char filter[VIEW_FILTER];
    size_t columns[RUNS_COLUMNS];
    size_t column_count; /* 0: automatic */
    size_t sort, group;  /* fields; FIELD_NONE: by start time, no groups */
    bool backwards;
};

struct saved_views {
    struct saved_view list[VIEWS_MAX];
    size_t count;
    struct saved_view present; /* only its columns are stored: those chosen by hand last */
};

/* Reads the file; a missing one has no views. Returns false with an error that names the line. */
bool saved_views_read(struct saved_views *views, struct error *error);

/* Writes the file as a whole. Returns false with an error. */
bool saved_views_write(const struct saved_views *views, struct error *error);

/* Returns the view with this name, or NULL. */
const struct saved_view *saved_views_find(const struct saved_views *views, const char *name);

/* Adds a view or replaces the one of the same name. Returns false with an error if there are too
 * many or the name is empty. */
bool saved_views_put(struct saved_views *views, const struct saved_view *view, struct error *error);

/* Removes the view with this name. */
void saved_views_remove(struct saved_views *views, const char *name);

#endif
