/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_RUNS_INTERNAL_H
#define TINCA_UI_SCREENS_RUNS_INTERNAL_H

#include "base/error.h"
#include "runs/history/run_field.h"
#include "runs/history/run_filter.h"
#include "studies/compare/run_reader.h"
#include "ui/app/app.h"
#include "ui/app/run_actions.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/layout.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- runs_choosers.c --- */

/* The lists that open above the run table: the field to group by, the saved views, and the columns.
 */

struct app;

/* Open the list of fields to group by, the list of saved views, and the list of columns. */
void runs_choose_group(struct app *app);
void runs_choose_view(struct app *app);
void runs_choose_columns(struct app *app);

/* Asks for a name under which filter, columns, order and groups are saved. */
void runs_ask_view_name(struct app *app);

/* Handles a key of the list of columns. Returns false if it is not open. */
bool runs_choosers_key(struct app *app, int key);

/* Returns the keys of the list of columns if it is open, or NULL. */
const struct actions *runs_choosers_over(const struct app *app);

/* Draws the list of columns if it is open. */
void runs_choosers_draw(struct app *app);

/* --- runs_columns.c --- */

/* The columns of the run table. They are chosen automatically (what identifies a run, the settings
 * in which the listed runs differ, and the figures that they have) or by hand. No drawing. */

enum { RUNS_COLUMNS = 40 };

struct runs_column {
    size_t field;
    size_t changes;   /* of a setting: how often it differs from one run of the list to the next */
    int content;      /* columns that the widest cell or the heading takes */
    int start, width; /* results of runs_columns_fit; width 0: left out */
    bool right;       /* numbers */
};

struct runs_columns {
    struct runs_column list[RUNS_COLUMNS];
    size_t count;
    size_t chosen[RUNS_COLUMNS]; /* fields chosen by hand, in their order */
    size_t chosen_count;         /* 0: automatic */
};

/* Chooses the columns for `count` records and measures their contents. */
void runs_columns_choose(struct runs_columns *columns, const struct run_record *records,
                         size_t count);

/* Distributes `room` terminal columns from `start` on. A column of numbers gets all it needs or is
 * left out, so that no number is cut; the least important columns are left out first. */
void runs_columns_fit(struct runs_columns *columns, int start, int room);

/* Adds a field to the columns chosen by hand, or removes it. The first change begins with the
 * columns that are shown. */
void runs_columns_toggle(struct runs_columns *columns, size_t field);

/* Returns the place of a field among the columns that are shown, from 1 on; 0: it is not shown. */
size_t runs_columns_place(const struct runs_columns *columns, size_t field);

/* Returns the translated heading of a field. */
const char *runs_heading(size_t field);

/* Writes the cell of a record as the table shows it. Returns `text`. */
char *runs_cell(size_t field, const struct run_record *record, char *text, size_t size);

/* --- runs_deletion.c --- */

/* Deletes runs and restores them. */

struct app;

/* Removes a waiting run from the queue. For a run with files, asks whether to delete the marked
 * runs that the table shows or, if none is marked, run number `index` (app_run_at). */
void runs_ask_deletion(struct app *app, size_t index);

/* Undoes the last change of a label or the last deletion, whichever came later. Without a change in
 * this session it restores the last deletion from the trash. */
void runs_undo_last(struct app *app);

/* Asks whether to remove all deleted runs for good. */
void runs_ask_empty_trash(struct app *app);

/* --- runs_choosers.c: the filter --- */

/* The line below the run table in which a filter is typed, with completion. */

struct app;

/* Begins to edit the filter, with the present text. */
void runs_filter_begin(struct app *app);

/* Handles a key while the filter is edited, and Esc while one is in effect. Returns whether it did.
 */
bool runs_filter_key(struct app *app, int key);

/* Returns how many rows above the line the candidates or the error need; 0: none. */
int runs_filter_rows(const struct app *app, struct rect body);

/* Draws the candidates of the completion, or what is wrong with the filter. */
void runs_filter_draw_candidates(struct app *app, struct rect area);

/* Draws the line. */
void runs_filter_draw(struct app *app, struct rect area);

/* --- runs_labels.c --- */

/* Asks for what the user writes about a run: its name, its tags and a note. */

struct app;

enum runs_label { RUNS_LABEL_NAME, RUNS_LABEL_TAGS, RUNS_LABEL_NOTE };

/* Asks for the name or the note of run number `index` (app_run_at), or for the tags of the marked
 * runs that the table shows; without marks those of this run. */
void runs_ask_label(struct app *app, enum runs_label label, size_t index);

/* Undoes the newest step of the model's undo, which is a change of labels. */
void runs_undo_label(struct app *app);

/* Returns whether the run is marked, has files and is shown by the table. */
bool runs_is_marked(const struct app *app, size_t index);

/* Returns how many such runs there are. */
size_t runs_marked_count(const struct app *app);

/* --- runs_preview.c --- */

/* The panel beside the run table on wide terminals: the curves of the selected run and what is
 * known of it. A saved run is read in the background as soon as the selection rests. */

struct app;

struct runs_preview {            /* starts as {0} */
    char wanted[512];            /* directory of the run to show; "": none */
    uint64_t since;              /* when it was selected (clock_nanoseconds) */
    struct run_reader *reader;   /* reads it; NULL: not now */
    char read[512];              /* directory of `run` or of the run that cannot be read */
    struct run *run;             /* the last run that was read; NULL: none */
    struct error error;          /* why it cannot be read */
    const struct run *curves_of; /* the run whose points are in `curves` */
    char curves_id[RUN_ID_SIZE]; /* and its ID */
    struct curves curves;
    struct value_range range; /* of the values shown */
    struct plot plot;
};

/* Frees everything and leaves `*preview` {0}. */
void runs_preview_free(struct runs_preview *preview);

/* Frees the run if it is the one in `directory`, because the folder changes or disappears. */
void runs_preview_forget(struct runs_preview *preview, const char *directory);

/* Returns how many columns of the body the panel takes; 0: there is no room for it. */
int runs_preview_columns(struct rect body);

/* Draws the panel, and requests the selected run if it is not read yet. */
void runs_preview_draw(struct app *app, struct rect area);

/* Takes over what was read, and begins to read what was requested. */
void runs_preview_work(struct app *app);

/* Returns in how many seconds runs_preview_work has something to do; INFINITY: nothing. */
double runs_preview_busy(const struct app *app);

/* --- runs_labels.c: undo --- */

/* The changes in the list of runs that can be undone: names, tags and notes as they were before
 * this session changed them, in one order with the deletions. No drawing. */

enum { RUNS_UNDO_STEPS = 64 };

struct runs_undo_text {
    char *directory; /* of the run */
    char *text;      /* its label before the change */
};

struct runs_undo_step {
    bool is_deletion; /* the trash has what is needed to undo it */
    int label;        /* an enum runs_label */
    struct runs_undo_text *texts;
    size_t count, capacity;
};

struct runs_undo { /* starts as {0} */
    struct runs_undo_step steps[RUNS_UNDO_STEPS];
    size_t count; /* the newest step is the last one */
};

/* Adds a step without texts, or a deletion. If there are too many, the oldest step is forgotten. */
void runs_undo_add_deletion(struct runs_undo *undo);

/* Returns the newest step; NULL: there is none. */
const struct runs_undo_step *runs_undo_newest(const struct runs_undo *undo);

/* Removes the newest step. */
void runs_undo_drop(struct runs_undo *undo);

/* Removes all steps and frees the memory. */
void runs_undo_free(struct runs_undo *undo);

/* --- saved_views.c --- */

/* The views of the run table that the user has saved under a name, and the columns chosen by hand,
 * in $XDG_CONFIG_HOME/tinca/views.json. No drawing. */

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

/* --- runs_model.c --- */

/* The rows of the run table: which runs are shown, in which order and groups, and which row is
 * selected. No drawing.
 *
 * The outlines of saved runs are read in the background (runs_model_read_outlines), the newest
 * first. Until a run's outline is read, its cells are empty and it is sorted behind the others. So
 * the table opens at once even with thousands of runs. */

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

/* The selected row. It is stored as the run or the group that it shows, so that it stays selected
 * when the order changes. */
struct runs_selection {
    size_t row, top;     /* the selected row, the first one shown */
    bool moved;          /* the user has selected a run: the selection follows it */
    char directory[512]; /* of the selected run; "": it has none yet */
    size_t index;        /* index (app_run_at) of a selected run without directory */
    bool at_head;        /* the head of a group is selected; `group` is its value */
    char group[RUNS_GROUP_VALUE];
};

/* The line in which the filter is edited (runs_choosers.c). */
struct runs_filter_line {
    bool editing;
    struct error error;               /* why the text is no valid filter; kind ERROR_NONE: it is */
    struct run_completion completion; /* what the last term may become */
    size_t completed;                 /* how often Tab was pressed in a row */
};

/* The list that is open above the table (runs_choosers.c). */
struct runs_choosers {
    bool choosing_columns; /* the list of columns is open */
    size_t column, top;    /* its selected line, the first one shown */
};

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
    struct runs_selection selection;
    size_t sort;    /* a field; FIELD_NONE: by start time, the newest first */
    bool backwards; /* sorts in descending order */
    size_t group;   /* a field; FIELD_NONE: no groups */
    /* The values of groups that are closed; of groups of seeds, which are closed at first, of those
     * that are open. */
    char collapsed[RUNS_COLLAPSED][RUNS_GROUP_VALUE];
    size_t collapsed_count;
    size_t unread; /* saved runs whose outline is not read yet */
    struct runs_columns columns;

    struct runs_filter_line filter_line;
    struct runs_choosers choosers;
    struct saved_views views;
    struct runs_preview preview;
    struct runs_undo undo;
    struct queued_run leaving; /* the place that the open question is about */
};

/* Returns the state of the run table. */
static inline struct runs_model *runs_model(const struct app *app)
{
    return app_state(app, SCREEN_RUNS);
}

/* Frees the model's memory, but for the preview's. */
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

/* --- runs_deletion.c: weights alone --- */

/* Deletes weights of runs that are no longer needed. */

struct app;

/* Asks which weights the marked runs that the table shows or, if none is marked, run number `index`
 * (app_run_at) shall keep, and says how much each answer frees. */
void runs_ask_pruning(struct app *app, size_t index);

/* --- runs_queue.c --- */

/* Runs of the list that wait in other processes (ui/shared/shared.c). */

struct app;

/* Asks whether to take the run out of the queue. Does nothing, and returns false, if it does not
 * wait in another process. */
bool runs_ask_leave(struct app *app, const struct run_entry *entry);

/* Returns why an action has no purpose for a run that waits in another process, as a translated
 * sentence; NULL: it has one, or the run does not wait there. */
const char *runs_queue_refuses(const struct run_entry *entry, enum run_offer offer);

/* Writes where the run waits: "place 2 of the queue since 12:30:04 UTC, process 4711 on host"; ""
 * if it does not wait in another process. Returns `text`. */
char *runs_queue_text(const struct app *app, const struct run_entry *entry, char *text,
                      size_t size);

/* --- runs_view.c --- */

/* Draws the run table: headings, rows with the heads of groups, the line below. */

struct app;

/* Draws the table, and the preview beside it where there is room. */
void runs_view_draw(struct app *app, struct rect body);

#endif
