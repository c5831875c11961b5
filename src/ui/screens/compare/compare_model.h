/* compare_model.h: the state of the screen Compare: the runs, their order, the settings in which
 * they differ, and their curves on one x axis. No drawing.
 *
 * Runs are borrowed; their places in `runs` (and so their colours) stay when the table is sorted,
 * while a row's mark ('1' to '9', then letters) is its number in the table. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_MODEL_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_MODEL_H

#include "session/compare/compare_figures.h"
#include "session/config/config_differences.h"
#include "session/history/run_reader.h"
#include "ui/plot/plot_window.h"
#include "ui/screens/compare/compare_curves.h"
#include "ui/screens/compare/compare_parallel_model.h"
#include "ui/screens/compare/compare_scatter_model.h"
#include "ui/terminal/layout.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

/* The mark behind the names of published rows and devices. */
#define COMPARE_PUBLISHED "*"

/* The place in `runs` of a row that is no run but a published result. */
#define COMPARE_NO_RUN SIZE_MAX

enum { COMPARE_HELD_KEYS = 32 };

enum compare_kind {
    COMPARE_CURVES,
    COMPARE_TABLE,
    COMPARE_SETTINGS,
    COMPARE_SCATTER,
    COMPARE_PARALLEL,
    COMPARE_KINDS
};

struct compare_model {
    const struct run **runs;
    struct compare_files *files; /* file sizes of each run */
    size_t count, run_capacity, file_capacity;

    const struct config_field *differences[CONFIG_MAX_FIELDS]; /* settings in which runs differ */
    size_t difference_count;                                   /* as of the last build */

    struct comparison table;              /* the rows, sorted */
    bool published;                       /* the table also has published results */
    size_t sort;                          /* sort column; 0: in the order of the runs */
    char sort_key[DEVICE_NAME_SIZE + 16]; /* the name of its figure for compare_sort */
    bool reverse;                         /* the worst row comes first */
    int widths[1 + COMPARE_FIGURES];      /* of the columns, in terminal columns */
    bool same_network;                    /* all rows have the same name of the network */
    size_t show;                          /* drawing scrolls to this column; 0: to none */
    bool outdated;                        /* the table must be built before it is drawn */

    struct compare_curves curves;
    struct axis x;
    enum trace trace; /* drawn for every run */
    struct plot_window window;
    struct plot plot;
    struct rect plot_area; /* where the plot was drawn; empty: nowhere */

    struct compare_scatter scatter;
    struct compare_parallel parallel;
    struct chooser chooser;                       /* of a figure */
    char choices[CHOOSER_MAX_ITEMS][FIGURE_NAME]; /* the items of the chooser */
    enum scatter_axis chosen_for; /* the axis of the scatter plot that it is chosen for */

    enum compare_kind kind;     /* view in front */
    bool table_below;           /* the table is drawn below the curves, and its rows are selected */
    size_t selected, top, left; /* selected row; first row and first column shown */
    size_t scroll;              /* first line of the settings shown */

    /* runs are read one after the other, see compare_screen.c */
    bool gathering;              /* not all are read yet */
    bool marked_only;            /* only marked runs are compared */
    size_t next;                 /* next run to read (app_run_at) */
    size_t omitted;              /* chosen runs that have not begun or cannot be read */
    struct run_reader *reader;   /* reads one run; NULL: none */
    const struct run *in_sight;  /* the run that was in front when the screen was opened */
    int held[COMPARE_HELD_KEYS]; /* keys pressed meanwhile, which act once the runs are drawn */
    size_t held_count;
    bool replaying; /* the first of them acts now */
    uint64_t built; /* when the table was built (clock_nanoseconds) */
};

/* Removes all runs. The view, the sort column and the trace stay. */
void compare_model_clear(struct compare_model *model);
/* Frees the model's memory. */
void compare_model_free(struct compare_model *model);

/* Adds a run and takes ownership of the contents of `files`, unless the run is there already.
 * Returns false with an error when there is no memory. */
bool compare_model_add(struct compare_model *model, const struct run *run,
                       struct compare_files *files, struct error *error);

/* Builds and sorts the table. Returns false with an error when there is no memory. */
bool compare_model_build(struct compare_model *model, struct error *error);

/* Makes the column `steps` after the sort column the sort column, best first, and the table
 * outdated. */
void compare_model_step_sort(struct compare_model *model, int steps);
/* Reverses the order of the rows, unknown values excepted, and makes the table outdated. */
void compare_model_reverse(struct compare_model *model);
/* Returns the translated name of the sort column. */
const char *compare_model_sort_name(const struct compare_model *model);

/* Returns the index in `runs` of a row; COMPARE_NO_RUN: the row is a published result. */
size_t compare_model_run_of_row(const struct compare_model *model, size_t row);
/* Returns the mark of a row in one character: '1' to '9', then letters, then '+'. */
char compare_model_row_mark(size_t row);
/* Writes the mark of a row: that character or, instead of '+', its number. Returns `text`. */
char *compare_model_mark(size_t row, char *text, size_t size);

/* Copies the settings in which the runs differed when the table was built into `fields`, which has
 * CONFIG_MAX_FIELDS elements. Returns their number. */
size_t compare_model_differences(const struct compare_model *model,
                                 const struct config_field **fields);

/* Selects the next trace for which a run has values. Raw traces are left out, because they would
 * hide each other. */
void compare_model_next_trace(struct compare_model *model);
/* Returns whether a run has values of the trace. */
bool compare_model_has_values(const struct compare_model *model, enum trace trace);

/* --- the table's cells, shorter than those of compare_cell --- */

/* Writes a cell; "?" if the value was not measured. Rows are named by their marks. Returns `text`.
 */
char *compare_model_cell(const struct compare_model *model, size_t row, size_t column, char *text,
                         size_t size);
/* Writes a column's heading into `lower` or, if it is wider than `columns` and can be broken, into
 * `upper` and `lower`, `size` bytes each. */
void compare_model_heading(const struct compare_model *model, size_t column, size_t columns,
                           char *upper, char *lower, size_t size);

/* Measures the widths of all columns, and whether the networks differ. Call it when the table is
 * built. */
void compare_model_measure_columns(struct compare_model *model);

/* Returns the state of the comparison. */
struct compare_model *compare_model(const struct app *app);

#endif
