/* compare_model.h: what the comparison on the screen holds: which runs, in which order, what tells
 * them apart, and their curves on one x axis. No drawing.
 *
 * Runs are borrowed; their places in `runs` (and so their colours) stay when the table is sorted,
 * while a row's mark ('1' to '9', then letters) is its number in the table. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_MODEL_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_MODEL_H

#include "session/compare/compare.h"
#include "session/history/run_reader.h"
#include "ui/plot/curves.h"
#include "ui/plot/plot_window.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

enum { COMPARE_RUNS = 24 };
enum compare_kind { COMPARE_CURVES, COMPARE_TABLE, COMPARE_SETTINGS, COMPARE_KINDS };

struct compare_model {
    const struct run *runs[COMPARE_RUNS];
    struct compare_files files[COMPARE_RUNS]; /* of each */
    size_t count;
    bool left_out; /* there were more than COMPARE_RUNS */

    struct comparison table;
    bool published;
    size_t sort; /* by this column of the table; 0: as chosen */

    struct curves curves[COMPARE_RUNS];
    struct axis x;
    enum trace trace;
    struct plot_window window;
    struct plot plot;

    enum compare_kind kind;
    size_t selected, top, left; /* row; first row and first column in sight */
    size_t scroll;              /* of the settings */

    /* runs are looked up and read one after the other, see compare_screen.c */
    bool gathering, marked_only;
    size_t next;
    struct run_reader *reader; /* of the run that is being read, or NULL */
    const struct run *in_sight;
    uint64_t built; /* when the table was made, clock_nanoseconds */
};

void compare_model_clear(
    struct compare_model *view); /* no runs; what was chosen to be shown stays */
void compare_model_free(struct compare_model *view);

/* Takes over what was read of the run. False: it is full (left_out is set then), or the run is
 * there already. */
bool compare_model_add(struct compare_model *view, const struct run *run,
                       struct compare_files *files);

/* Makes the table afresh, sorted. */
bool compare_model_build(struct compare_model *view, struct error *error);

/* Sorts by the next column; returns its name for people. */
const char *compare_model_next_sort(struct compare_model *view, struct error *error);
const char *compare_model_sort_name(const struct compare_model *view);

/* The place in `runs` of a row, COMPARE_RUNS: a published one; and the row of a run. */
size_t compare_model_run_of_row(const struct compare_model *view, size_t row);
size_t compare_model_row_of_run(const struct compare_model *view, size_t run);
char compare_model_row_mark(size_t row);

/* The settings in which the runs differ; `fields` holds 64. Returns how many. */
size_t compare_model_differences(const struct compare_model *view,
                                 const struct config_field **fields);

/* "lenet, batch 32": the network and what tells the run from the others. */
char *compare_model_label(const struct compare_model *view, size_t run, char *text, size_t size);

/* The next trace (but for raw ones, which would hide each other) of which some run has values. */
void compare_model_next_trace(struct compare_model *view);
bool compare_model_has_values(const struct compare_model *view, enum trace trace);

/* Takes in what is new of every run, on an x axis that holds them all or, zoomed, a part of it
 * (`wanted.axis` and `wanted.traces` are set here). `columns`: the cells across. */
bool compare_model_update_curves(struct compare_model *view, const struct curve_view *wanted,
                                 size_t columns, struct error *error);
/* The trace's y axis. */
struct axis compare_model_y_axis(const struct compare_model *view, bool log);
/* Values in sight that a logarithmic axis has no place for. */
size_t compare_model_count_nonpositive(const struct compare_model *view);
/* The trace's value under the cursor or, without one, its last; NaN: none. */
double compare_model_value(const struct compare_model *view, size_t run);

/* --- the table's cells for the screen: shorter than compare_cell's --- */

/* "?" is what was not measured. */
char *compare_model_cell(const struct compare_model *view, size_t row, size_t column, char *text,
                         size_t size);
/* In two lines; `size` is of each. */
void compare_model_heading(const struct compare_model *view, size_t column, char *upper,
                           char *lower, size_t size);

/* Returns the state of the comparison. */
struct compare_model *compare_model(const struct app *app);

#endif
