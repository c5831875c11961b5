/* compare_curves.h: the curves of the compared runs: which of them are drawn, the groups of runs
 * that differ in their seed only, and the entries of the legend. No drawing.
 *
 * Each run has a record, which lasts as long as the run is compared. An entry of the legend is a
 * run or, while groups are drawn, a group: its mean and the band of its minimum and maximum.
 */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_CURVES_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_CURVES_H

#include "session/config/config_differences.h"
#include "session/record/run.h"
#include "ui/plot/axis_marks.h"
#include "ui/plot/band.h"
#include "ui/plot/curves.h"
#include "ui/plot/value_range.h"
#include "ui/terminal/theme.h"

#include <stdbool.h>
#include <stddef.h>

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

/* Makes the records those of the model's runs. Runs that were there keep theirs. Call it after runs
 * were added or the table was sorted. Returns false with an error if out of memory. */
bool compare_curves_match(struct compare_model *model, struct error *error);

/* Removes all records. The choice of groups stays. */
void compare_curves_clear(struct compare_curves *curves);

/* Frees the memory and leaves `*curves` {0}. */
void compare_curves_free(struct compare_curves *curves);

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

#endif
