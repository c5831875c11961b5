/* runs_model.h: the rows of the run table: which runs are shown, in which order, and which one is
 * selected. No drawing.
 *
 * The outlines of saved runs are read in small batches (runs_model_read_outlines), the newest
 * first. Until a run's outline is read, its cells are empty and it is sorted behind the others. So
 * the table opens at once even with thousands of runs. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H
#define TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H

#include "ui/app/run_cells.h"

#include <stdbool.h>
#include <stddef.h>

struct app;

struct runs_model {
    size_t *order;          /* shown runs by row, as indices of app_run_at */
    size_t count, capacity; /* size of `order` */
    size_t known;           /* number of all runs when `order` was made */
    size_t selected, top;   /* rows: the selected one, the first one shown */
    bool moved;             /* the user has selected a run: the selection follows it */
    char at[512];           /* directory of the selected run; "": it has none yet */
    size_t at_index;        /* index (app_run_at) of a selected run without directory */
    enum runs_column sort;  /* RUNS_NUMBER: by start time, the newest first */
    bool backwards;         /* sorts in descending order */
    bool searching;         /* the search line is being edited */
    bool named;             /* at least one run has a name */
    size_t unread;          /* saved runs whose outline is not read yet */
};

/* Returns the state of the run table. */
struct runs_model *runs_model(const struct app *app);

/* Frees the model's memory. */
void runs_model_free(struct runs_model *model);

/* Fills in RUNS_COLUMNS columns for table_fit. A column that is empty in all rows gets width 0. */
void runs_columns(const struct runs_model *model, struct table_column *columns);

/* Sorts the rows again if something has changed. The selection stays with its run. */
void runs_model_update(struct app *app);

/* Returns the selected run's index (app_run_at); app_run_count: none is selected. */
size_t runs_model_index(const struct app *app);

/* Moves the selection by `steps` rows; it stops at the ends. */
void runs_model_move(struct app *app, long steps);

/* Sorts by the next (+1) or the previous (-1) column. */
void runs_model_sort(struct app *app, int direction);

/* Continues to read outlines of saved runs. Returns true if it should be called again at once. */
bool runs_model_read_outlines(struct app *app);

#endif
