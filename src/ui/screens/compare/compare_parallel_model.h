/* compare_parallel_model.h: parallel coordinates: one vertical axis per setting in which runs
 * differ and per figure; a run is a line that crosses them. Axes can be brushed (restricted to a
 * range), which filters the lines, moved, and left out. No drawing. */
#ifndef TINCA_UI_SCREENS_COMPARE_COMPARE_PARALLEL_MODEL_H
#define TINCA_UI_SCREENS_COMPARE_COMPARE_PARALLEL_MODEL_H

#include "base/axis.h"
#include "session/compare/compare_figures.h"

#include <stdbool.h>
#include <stddef.h>

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

#endif
