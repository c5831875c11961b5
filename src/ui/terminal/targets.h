/* targets.h: the places of a frame that a click acts on.
 *
 * While a frame is drawn, each clickable place is recorded with the keys that have the same effect
 * and how often they would be pressed. The loop turns a click into these keys. Hence everything the
 * mouse can do is on the keyboard too, and screens only handle keys.
 */
#ifndef TINCA_UI_TERMINAL_TARGETS_H
#define TINCA_UI_TERMINAL_TARGETS_H

#include "ui/terminal/layout.h"

#include <stddef.h>

struct target {
    struct rect area; /* in screen coordinates */
    int key;          /* pressed `times` times */
    size_t times;
    int second_key; /* then pressed `second_times` times */
    size_t second_times;
};

enum { TARGETS_MAX = 4096 }; /* enough for the cells of a large grid and everything around it */

struct targets {
    struct target list[TARGETS_MAX];
    size_t count;
};

/* Removes all places, at the start of a frame. */
void targets_clear(struct targets *targets);

/* Adds a place. It covers the places added before it. Beyond TARGETS_MAX nothing is added. */
void targets_add(struct targets *targets, struct rect area, int key, size_t times);

/* Adds row `row` of a list. A click moves the selection there with Up or Down; a click on the row
 * that is selected already presses Enter. */
void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected);

/* Adds row `row` of a list in which a click moves the selection and presses Enter. */
void targets_add_choice(struct targets *targets, struct rect area, size_t row, size_t selected);

/* Adds column `column` of a list whose items stand side by side: the same with Left and Right. */
void targets_add_column(struct targets *targets, struct rect area, size_t column, size_t selected);

struct target_cell {
    size_t row, column;
};

/* Adds a cell of a grid: the same with all four arrow keys. */
void targets_add_cell(struct targets *targets, struct rect area, struct target_cell cell,
                      struct target_cell selected);

/* Returns the topmost place at a screen position, or NULL. */
const struct target *targets_find(const struct targets *targets, int row, int column);

#endif
