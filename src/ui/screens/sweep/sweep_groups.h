/* sweep_groups.h: the rows of means below the cells of a sweep that differ in their seed only. */
#ifndef TINCA_UI_SCREENS_SWEEP_SWEEP_GROUPS_H
#define TINCA_UI_SCREENS_SWEEP_SWEEP_GROUPS_H

#include "session/sweep/sweep_table.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns whether a row of means follows this row of the table: it is the last one of a group of
 * seeds. */
bool sweep_group_ends(const struct sweep *sweep, size_t row);

/* Writes the label of that row, with the device if the sweep has several. Returns `text`. */
char *sweep_group_label(const struct sweep *sweep, size_t row, char *text, size_t size);

/* Writes mean and 95 % interval of a figure over the seeds of a cell, or "-" if none has it.
 * Returns `text`. */
char *sweep_group_text(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                       char *text, size_t size);

/* Returns the number of seeds of a cell's group that have the figure, and sets *all to that of all;
 * 0 if the cell is in no group. */
size_t sweep_group_count(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                         size_t *all);

#endif
