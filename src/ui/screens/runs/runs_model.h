/* runs_view.h: what the list of runs holds: which runs are shown, in which order, and what stands
 * in its cells. No drawing.
 *
 * Kept runs are read bit by bit (runs_view_read), those in sight first; until a run is read its
 * cells are empty, and it stands behind the others. So thousands of them open at once. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H
#define TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H

#include "ui/model/run_list.h"
#include "ui/widgets/line_edit.h"
#include "ui/widgets/table.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

enum runs_column {
    RUNS_MARK,
    RUNS_NUMBER,
    RUNS_STATUS,
    RUNS_NETWORK,
    RUNS_TECHNIQUE,
    RUNS_NAME, /* the user's own; there when some run has one */
    RUNS_DATA,
    RUNS_BATCH,
    RUNS_DEVICE,
    RUNS_EPOCHS,
    RUNS_LOSS,
    RUNS_TOP1,
    RUNS_SPEED,
    RUNS_BEGUN,
    RUNS_COLUMNS
};

struct runs_view {
    size_t *order; /* of app_run_at: the runs that are shown */
    size_t count, capacity;
    size_t known;          /* runs there were when the order was made */
    bool stale;            /* the order is to be made again */
    size_t selected, top;  /* places in `order` */
    bool moved;            /* the user has chosen a run: the selection follows it */
    char at[512];          /* the directory of the selected run; "": it has none yet */
    size_t at_index;       /* then its place, of app_run_at */
    enum runs_column sort; /* RUNS_NUMBER: as they were begun, the newest first */
    bool backwards;
    bool searching;
    struct line_edit search;
    bool named;        /* some run has a name */
    char subject[512]; /* the directory of the run that a question is about */
    size_t unread;     /* kept runs that are not read yet */
};

void runs_view_free(struct runs_view *view);

/* The heading of a column in the user's language; its width and place among the others. */
const char *runs_heading(enum runs_column column);
/* Fills `columns` for table_fit, RUNS_COLUMNS of them; a column that would be empty in every run
 * has width 0. */
void runs_columns(const struct runs_view *view, struct table_column *columns);

/* Returns `text`. */
char *runs_cell(const struct app *app, size_t index, enum runs_column column, char *text,
                size_t size);

/* Whether the search leaves a run in. Every word typed must occur in its line, its ID or its name.
 */
bool runs_match(const struct app *app, size_t index);

/* Makes the order afresh when something has changed; the selection stays with its run. */
void runs_view_update(struct app *app);

/* The selected run's index (of app_run_at); app_run_count: there is none. */
size_t runs_view_index(const struct app *app);

void runs_view_move(struct app *app, long steps);

/* Sorts by the next (+1) or the previous (-1) column. */
void runs_view_sort(struct app *app, int direction);

/* Reads some more kept runs; true while there are any left. */
bool runs_view_read(struct app *app);

/* The run's ID ("" while it waits), and what people call it: its name, or else the ID. */
const char *runs_id(const struct run_entry *entry);
const char *runs_called(const struct run_entry *entry);

#endif
