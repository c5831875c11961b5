/* internal.h: what the files of this folder share; no other folder includes it. */
#ifndef TINCA_UI_SCREENS_COMPARE_INTERNAL_H
#define TINCA_UI_SCREENS_COMPARE_INTERNAL_H

#include "base/axis.h"
#include "runs/record/run.h"
#include "runs/settings/config_differences.h"
#include "studies/compare/compare_figures.h"
#include "studies/compare/pareto.h"
#include "studies/compare/run_reader.h"
#include "ui/app/app.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot.h"
#include "ui/plot/scatter.h"
#include "ui/terminal/keys.h"
#include "ui/terminal/layout.h"
#include "ui/terminal/theme.h"
#include "ui/widgets/chooser.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- compare_model.c: curves --- */

/* The curves of the compared runs: which of them are drawn, the groups of runs that differ in their
 * seed only, and the entries of the legend. No drawing.
 *
 * Each run has a record, which lasts as long as the run is compared. An entry of the legend is a
 * run or, while groups are drawn, a group: its mean and the band of its minimum and maximum. */

struct compare_model;

/* The label of an entry as it was last drawn: to find one takes a look at all runs. */
struct compare_label {
    char text[256]; /* "": not made */
    size_t columns; /* for which it was made */
    bool grouped;
};

struct compare_curve {
    const struct run *run;
    struct compare_label label; /* of the entry that it stands for */
    struct curves curves;
    struct curve_marks changes;
    size_t group;              /* index of the first run of its group; a run alone is its own */
    size_t group_size;         /* runs in that group */
    struct band band;          /* of the first run of a group: its mean and band */
    bool hidden, solo, pinned; /* what the user has chosen */
};

struct compare_entry {
    size_t run;  /* index of the run, or of the first one of the group */
    size_t row;  /* the first row of the table that shows one of its runs */
    size_t runs; /* how many runs it stands for */
    bool visible, pinned;
    bool grouped; /* seeds are grouped: entries differ without them, so a long label has none */
};

struct compare_curves { /* starts as {0} */
    struct compare_curve *list;
    size_t count, capacity;
    bool ungrouped;                    /* runs that differ in their seed are drawn apart */
    const struct run_config **configs; /* of the runs in the list */
    size_t config_capacity;
    const struct config_field *fields[CONFIG_MAX_FIELDS]; /* the settings in which runs differ */
    size_t field_count;
    struct compare_entry *entries; /* in the order of the legend */
    size_t entry_count, entry_capacity;
    struct value_range range;
    struct axis_marks marks; /* of the visible entries, as of the last frame */
    /* by number of a series in the plot: first the runs from 1 on, then their bands */
    enum role *roles;
    enum plot_style *styles;
    size_t role_capacity, style_capacity;
};

/* --- the entries of the legend --- */

/* Writes what distinguishes an entry from the others: "lr 0.03, seed 2"; the network's name if
 * nothing differs. A label longer than `columns` is shortened to the settings that no other entry
 * has together. Returns `text`. */
char *compare_curves_label(const struct compare_model *model, const struct compare_entry *entry,
                           size_t columns, char *text, size_t size);

/* Returns the same label, which stays as it is until the runs, the width or the groups change. */
const char *compare_curves_fitted_label(struct compare_model *model,
                                        const struct compare_entry *entry, size_t columns);

/* Returns the entry's value under the cursor or, without a cursor, its last one, and sets the
 * number of runs that it is over; NaN: there is none. */
double compare_curves_value(const struct compare_model *model, const struct compare_entry *entry,
                            size_t *runs);

/* Returns the entry of the selected row; NULL: that row is a published result. */
const struct compare_entry *compare_curves_selected(const struct compare_model *model);

/* Selects the entry `steps` after the selected one, at most the last. */
void compare_curves_select(struct compare_model *model, long steps);

/* --- what is drawn; these act on the selected entry, and return whether there is one --- */

/* Hides the entry, or shows it again. */
bool compare_curves_hide(struct compare_model *model);
/* Shows this entry and the pinned ones only, or all again. */
bool compare_curves_solo(struct compare_model *model);
/* Pins the entry: it is first in the legend, on top in the plot, and stays when others are shown
 * alone. Or unpins it. */
bool compare_curves_pin(struct compare_model *model);
/* Draws runs that differ in their seed as groups, or apart. Returns how many groups of several runs
 * there are. */
size_t compare_curves_toggle_groups(struct compare_model *model);

/* --- curves --- */

/* Adds every run's new points to its curves, on an x axis of `columns` cells that shows all runs
 * or, if zoomed, a part. The function sets wanted->axis and wanted->traces in a copy of `wanted`.
 * Returns false with an error if out of memory. */
bool compare_curves_update(struct compare_model *model, const struct curve_view *wanted,
                           size_t columns, struct error *error);

/* Lists the marks of the visible entries, each in the colour of its entry, in the `columns` of the
 * x axis. Returns false with an error if out of memory. */
bool compare_curves_list_marks(struct compare_model *model, size_t columns, struct error *error);

/* Sets the y axis of the visible entries; `all`: with outliers. Returns false with an error if out
 * of memory. */
bool compare_curves_y_axis(struct compare_model *model, bool log, bool all, struct axis *y,
                           struct error *error);

/* Returns how many visible values are not positive, so that a logarithmic axis cannot show them. */
size_t compare_curves_nonpositive(const struct compare_model *model);

/* Returns in how many columns visible curves lie outside the y axis. */
size_t compare_curves_outliers(const struct compare_model *model, const struct axis *y);

/* --- compare_dialog.c --- */

/* The dialog that writes a comparison into a file. */

struct app;

/* Asks for the name of a Markdown, CSV or JSON file and writes the comparison into it. */
void ask_compare_export(struct app *app);

/* --- compare_gather.c --- */

/* Chooses and reads the runs that the screen Compare shows. */

struct app;

/* Shows the screen, and starts to read the marked runs or, if none is marked, those that match the
 * filter of the list of runs. */
void compare_gather_begin(struct app *app);
/* Keeps a key that acts on the compared runs until they have been read and drawn. Returns false if
 * it can act now. */
bool compare_gather_hold(struct app *app, int key);
/* Reads on, builds the table after the last run, and then lets the kept keys act, one after each
 * frame. Returns whether it wants to be called again at once. */
bool compare_gather_work(struct app *app);
/* Returns in how many seconds compare_gather_work wants to be called. */
double compare_gather_busy(const struct app *app);

/* --- compare_parallel_model.c --- */

/* Parallel coordinates: one vertical axis per setting in which runs differ and per figure; a run is
 * a line that crosses them. Axes can be brushed (restricted to a range), which filters the lines,
 * moved, and left out. No drawing. */

enum { PARALLEL_NAME = DEVICE_NAME_SIZE + 16, PARALLEL_STEPS = 4, PARALLEL_UNKNOWN = -1 };

struct parallel_axis {
    char name[PARALLEL_NAME]; /* of its figure */
    bool left_out;
    bool brushed;
    double low, high; /* of the brush, in values */

    /* as of the last compare_parallel_build */
    struct compare_figure figure;
    struct axis scale; /* of numbers */
    double *values;    /* of each row; the number of the name on an axis of names; NaN: unknown */
    double *levels;    /* the different values, ascending */
    size_t level_count;
};

struct compare_parallel {                       /* starts as {0} */
    struct parallel_axis axes[COMPARE_FIGURES]; /* in their order; those left out are at the end */
    size_t count, shown;
    size_t selected; /* axis */
    size_t rows;
};

/* Fills the axes from the table. Axes that were there keep their order and their brush; at first
 * the settings come first and the results (loss, accuracy) last. Returns false with an error when
 * there is no memory. */
bool compare_parallel_build(struct compare_parallel *parallel, const struct comparison *table,
                            struct error *error);
/* Frees the values. The order of the axes and the brushes stay. */
void compare_parallel_free(struct compare_parallel *parallel);

/* Returns the position of a row's line on an axis, 0 (bottom) to 1; NaN: unknown. */
double compare_parallel_position(const struct compare_parallel *parallel, size_t axis, size_t row);
/* Returns the position of a value of the axis. */
double compare_parallel_place(const struct parallel_axis *axis, double value);
/* Returns whether a row lies within all brushes. A row without a value lies in none. */
bool compare_parallel_passes(const struct compare_parallel *parallel, size_t row);
/* Returns how many rows do. */
size_t compare_parallel_count(const struct compare_parallel *parallel);
/* Returns the step (0 to PARALLEL_STEPS - 1) of a row on the last shown axis, or PARALLEL_UNKNOWN.
 */
int compare_parallel_step(const struct compare_parallel *parallel, size_t row);

/* Moves the lower (`lower` set) or upper end of the brush of the selected axis to the next level up
 * or down. The ends do not cross. */
void compare_parallel_brush(struct compare_parallel *parallel, bool lower, bool up);
/* Removes the brush of the selected axis, or of all axes. */
void compare_parallel_clear_brush(struct compare_parallel *parallel, bool all);
/* Moves the selected axis by one place to the left or right. */
void compare_parallel_move(struct compare_parallel *parallel, bool right);
/* Leaves the selected axis out, unless it is the only one. */
void compare_parallel_leave_out(struct compare_parallel *parallel);
/* Shows the axis with this name, before the last one, and selects it. */
void compare_parallel_show(struct compare_parallel *parallel, const char *name);

/* --- compare_scatter_model.c --- */

/* The points of a scatter plot of two figures, its axes, and the Pareto front. No drawing. */

enum { SCATTER_NAME = DEVICE_NAME_SIZE + 16 };

struct compare_scatter {                    /* starts as {0} */
    char names[SCATTER_AXES][SCATTER_NAME]; /* chosen figures; "": a default takes their place */
    bool log[SCATTER_AXES];                 /* wanted, where all values are positive */

    /* as of the last compare_scatter_build */
    bool usable; /* false: no figure of the table is known, and nothing below is valid */
    struct compare_figure figures[SCATTER_AXES];
    struct axis axes[SCATTER_AXES];
    struct scatter_point *points; /* rows with both values */
    size_t count, capacity;
    size_t unknown[SCATTER_AXES]; /* rows without that value */
    struct compare_front front;
    bool has_front; /* false: it is not known whether more or less of a figure is better */
};

/* Fills points, axes and front from the table. Chosen figures that the table lacks are replaced by
 * defaults: parameters and top-1 accuracy if they are known. Returns false with an error when there
 * is no memory. */
bool compare_scatter_build(struct compare_scatter *scatter, const struct comparison *table,
                           struct error *error);
/* Frees the points. The chosen figures stay. */
void compare_scatter_free(struct compare_scatter *scatter);

/* Goes on to the next scales: linear, log x, log y, both. */
void compare_scatter_next_scale(struct compare_scatter *scatter);

/* Returns the row of the nearest point in a direction from the row's point, one of (1, 0), (-1, 0),
 * (0, 1), (0, -1) for right, left, up and down; the row itself if there is none. */
size_t compare_scatter_neighbour(const struct compare_scatter *scatter, size_t row, int across,
                                 int up);

/* --- compare_model.c --- */

/* The state of the screen Compare: the runs, their order, the settings in which they differ, and
 * their curves on one x axis. No drawing.
 *
 * Runs are borrowed; their places in `runs` (and so their colours) stay when the table is sorted,
 * while a row's mark ('1' to '9', then letters) is its number in the table. */

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

/* The runs are read one after the other (compare_gather.c). */
struct compare_gathering {
    bool running;                /* not all are read yet */
    bool marked_only;            /* only marked runs are compared */
    size_t next;                 /* next run to read (app_run_at) */
    size_t omitted;              /* chosen runs that have not begun or cannot be read */
    struct run_reader *reader;   /* reads one run; NULL: none */
    const struct run *in_sight;  /* the run that was in front when the screen was opened */
    int held[COMPARE_HELD_KEYS]; /* keys pressed meanwhile, which act once the runs are drawn */
    size_t held_count;
    bool replaying; /* the first of them acts now */
};

/* The order of the table's rows. */
struct compare_order {
    size_t column;                   /* 0: the order of the runs */
    char key[DEVICE_NAME_SIZE + 16]; /* the name of the column's figure for compare_sort */
    bool reverse;                    /* the worst row comes first */
};

/* The table's columns on the screen. */
struct compare_table_columns {
    int widths[1 + COMPARE_FIGURES]; /* in terminal columns */
    bool same_network;               /* all rows have the same name of the network */
    size_t show;                     /* drawing scrolls to this column; 0: to none */
};

/* The list that chooses a figure for an axis of the scatter plot or of the parallel coordinates. */
struct compare_choice {
    char items[CHOOSER_MAX_ITEMS][SCATTER_NAME];
    enum scatter_axis axis; /* of the scatter plot */
};

struct compare_model {
    const struct run **runs;
    struct compare_files *files; /* file sizes of each run */
    size_t count, run_capacity, file_capacity;

    const struct config_field *differences[CONFIG_MAX_FIELDS]; /* settings in which runs differ */
    size_t difference_count;                                   /* as of the last build */

    struct comparison table; /* the rows, sorted */
    bool published;          /* the table also has published results */
    bool outdated;           /* the table must be built before it is drawn */
    uint64_t built;          /* when it was built (clock_nanoseconds) */
    struct compare_order order;
    struct compare_table_columns columns;

    struct compare_curves curves;
    struct axis x;
    enum trace trace; /* drawn for every run */
    struct plot_window window;
    struct plot plot;

    struct compare_scatter scatter;
    struct compare_parallel parallel;
    struct compare_choice choice;

    enum compare_kind kind;     /* view in front */
    bool table_below;           /* the table is drawn below the curves, and its rows are selected */
    size_t selected, top, left; /* selected row; first row and first column shown */
    size_t scroll;              /* first line of the settings shown */

    struct compare_gathering gathering;
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
static inline struct compare_model *compare_model(const struct app *app)
{
    return app_state(app, SCREEN_COMPARE);
}

/* --- the views --- */

/* Drawing of a comparison: table, settings, curves, scatter plot and parallel coordinates. */

/* Returns the width of the panel that names the runs beside a plot; 0: it stands elsewhere. */
int compare_panel_columns(int columns);
/* Draws the table, with notes about the selected row below it. */
void compare_draw_table(struct app *app, struct rect area);
/* Returns how many rows the table needs to show everything. */
int compare_table_rows(const struct compare_model *model);
/* Draws the settings in which the runs differ. */
void compare_draw_settings(struct app *app, struct rect area);
/* Draws the curves of all runs and the legend that names them. */
void compare_draw_curves(struct app *app, struct rect area);
/* Draws the scatter plot of two figures, and the selected point's values. */
void compare_draw_scatter(struct app *app, struct rect area);
/* Draws the parallel coordinates. */
void compare_draw_parallel(struct app *app, struct rect area);
/* Returns the colour of a row and of its curve. */
enum role compare_row_role(const struct compare_model *model, size_t row);

#endif
