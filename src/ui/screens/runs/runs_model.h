/* runs_view.h: what the list of runs holds: which runs are shown, in which order, and what stands
 * in its cells. No drawing.
 *
 * Kept runs are read bit by bit (runs_model_read_outlines), those in sight first; until a run is
 * read its cells are empty, and it stands behind the others. So thousands of them open at once. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H
#define TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H

#include "ui/app/run_cells.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

struct runs_model {
    size_t *order; /* of app_run_at: the runs that are shown */
    size_t count, capacity;
    size_t known;          /* runs there were when the order was made */
    size_t selected, top;  /* places in `order` */
    bool moved;            /* the user has chosen a run: the selection follows it */
    char at[512];          /* the directory of the selected run; "": it has none yet */
    size_t at_index;       /* then its place, of app_run_at */
    enum runs_column sort; /* RUNS_NUMBER: as they were begun, the newest first */
    bool backwards;
    bool searching;
    bool named;    /* some run has a name */
    size_t unread; /* kept runs that are not read yet */
};

/* Returns the state of the run table. */
struct runs_model *runs_model(const struct app *app);

void runs_model_free(struct runs_model *view);

/* Fills `columns` for table_fit, RUNS_COLUMNS of them; a column that would be empty in every run
 * has width 0. */
void runs_columns(const struct runs_model *view, struct table_column *columns);

/* Makes the order afresh when something has changed; the selection stays with its run. */
void runs_model_update(struct app *app);

/* The selected run's index (of app_run_at); app_run_count: there is none. */
size_t runs_model_index(const struct app *app);

void runs_model_move(struct app *app, long steps);

/* Sorts by the next (+1) or the previous (-1) column. */
void runs_model_sort(struct app *app, int direction);

/* Reads some more kept runs; true while there are any left. */
bool runs_model_read_outlines(struct app *app);

#endif
