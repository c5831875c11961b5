/* runs_model.h: the rows of the run table: which runs are shown, in which order and groups, and
 * which row is selected. No drawing.
 *
 * The outlines of saved runs are read in the background (runs_model_read_outlines), the newest
 * first. Until a run's outline is read, its cells are empty and it is sorted behind the others. So
 * the table opens at once even with thousands of runs. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H
#define TINCA_UI_SCREENS_RUNS_RUNS_MODEL_H

#include "session/history/run_filter.h"
#include "ui/app/run_cells.h"
#include "ui/screens/runs/runs_columns.h"
#include "ui/screens/runs/runs_preview.h"
#include "ui/screens/runs/runs_undo.h"
#include "ui/screens/runs/saved_views.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

enum { RUNS_GROUP_VALUE = 64, RUNS_COLLAPSED = 64, RUNS_MEANS = 6 };

/* A row shows a run, or heads a group. */
struct runs_row {
    size_t index; /* of app_run_at; SIZE_MAX: the head of the group */
    size_t group; /* SIZE_MAX: the run is in none */
};

/* The fields of which a group has means. */
extern const size_t runs_mean_fields[RUNS_MEANS];

struct runs_mean {
    size_t count;         /* runs that have the figure */
    double mean, squares; /* squares: the sum of squared differences from the mean */
};

/* Runs with the same value in the field that the table is grouped by; without one, runs of a group
 * of seeds, of which at least two are shown. */
struct runs_group {
    char value[RUNS_GROUP_VALUE];
    size_t first, count; /* of `order` */
    bool collapsed;
    struct runs_mean means[RUNS_MEANS]; /* of runs_mean_fields */
};

enum runs_choice { RUNS_CHOOSE_GROUP, RUNS_CHOOSE_VIEW };

struct runs_model {
    size_t *order;          /* shown runs in their order, as indices of app_run_at */
    size_t count, capacity; /* size of `order` */
    struct runs_row *rows;
    size_t row_count, row_capacity;
    struct runs_group *groups; /* none without grouping */
    size_t group_count, group_capacity;
    struct run_record *records; /* of all runs; valid only while the order is made */
    size_t record_capacity;
    uint64_t ordered, order_took; /* when the order was made, and how long that took (ns) */
    size_t known;                 /* number of all runs when `order` was made */
    size_t selected, top;         /* rows: the selected one, the first one shown */
    bool moved;                   /* the user has selected a run: the selection follows it */
    char at[512];                 /* directory of the selected run; "": it has none yet */
    size_t at_index;              /* index (app_run_at) of a selected run without directory */
    bool at_head;                 /* the head of a group is selected; at_group is its value */
    char at_group[RUNS_GROUP_VALUE];
    size_t sort;    /* a field; FIELD_NONE: by start time, the newest first */
    bool backwards; /* sorts in descending order */
    size_t group;   /* a field; FIELD_NONE: no groups */
    /* The values of groups that are closed; of groups of seeds, which are closed at first, of those
     * that are open. */
    char collapsed[RUNS_COLLAPSED][RUNS_GROUP_VALUE];
    size_t collapsed_count;
    size_t unread; /* saved runs whose outline is not read yet */
    struct runs_columns columns;

    bool searching;                   /* the filter line is being edited */
    struct error filter_error;        /* why the text is no valid filter; kind ERROR_NONE: it is */
    struct run_completion completion; /* what the last term may become */
    size_t completed;                 /* how often Tab was pressed in a row */

    struct chooser chooser;
    enum runs_choice choice; /* what the open chooser is for */
    bool choosing_columns;   /* the list of columns is open */
    size_t column_at, column_top;

    struct saved_views views;
    struct runs_preview preview;
    struct runs_undo undo;
    struct queued_run leaving; /* the place that the open question is about */
};

/* Returns the state of the run table. */
struct runs_model *runs_model(const struct app *app);

/* Frees the model's memory. */
void runs_model_free(struct runs_model *model);

/* Makes rows, groups and columns again if something has changed. The selection stays with its run.
 */
void runs_model_update(struct app *app);

/* Returns the selected run's index (app_run_at); app_run_count: none is selected. */
size_t runs_model_index(const struct app *app);

/* Returns the group of the selected row if the row is its head, else NULL. */
const struct runs_group *runs_model_head(const struct app *app);

/* Moves the selection by `steps` rows; it stops at the ends. */
void runs_model_move(struct app *app, long steps);

/* Sorts by the next (+1) or the previous (-1) column. */
void runs_model_sort(struct app *app, int direction);

/* Groups by a field; FIELD_NONE: no groups. All groups are open. */
void runs_model_group(struct app *app, size_t field);

/* Closes or opens the group of the selected row. Its head is then selected. */
void runs_model_collapse(struct app *app, bool collapsed);

/* Continues to read outlines of saved runs. Returns true if it should be called again at once. */
bool runs_model_read_outlines(struct app *app);

#endif
