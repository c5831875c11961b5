/* targets.h: what a click does. While a frame is drawn, places are noted with the key that would do
 * the same, and how often it would have to be pressed (in a grid: two keys): so nothing can be done
 * by the mouse alone, and screens decide about keys only.
 */
#ifndef TINCA_UI_TERMINAL_TARGETS_H
#define TINCA_UI_TERMINAL_TARGETS_H

#include "ui/terminal/layout.h"

#include <stddef.h>

struct target {
    struct rect area; /* on the screen */
    int key;
    size_t times;
    int second_key; /* another key after it */
    size_t second_times;
};

enum { TARGETS_MAX = 4096 }; /* the cells of a large grid, and what is around it */

struct targets {
    struct target list[TARGETS_MAX];
    size_t count;
};

void targets_clear(struct targets *targets);

/* Notes a place. A later one lies above an earlier; beyond TARGETS_MAX nothing is noted. */
void targets_add(struct targets *targets, struct rect area, int key, size_t times);

/* A row of a list whose selected row is `selected`: a click goes there, or opens it if it is it. */
void targets_add_row(struct targets *targets, struct rect area, size_t row, size_t selected);

/* The same beside each other, with Left and Right. */
void targets_add_column(struct targets *targets, struct rect area, size_t column, size_t selected);

/* A cell of a grid with a selected cell. */
struct target_cell {
    size_t row, column;
};
void targets_add_cell(struct targets *targets, struct rect area, struct target_cell cell,
                      struct target_cell selected);

/* What lies there, or NULL. */
const struct target *targets_find(const struct targets *targets, int row, int column);

#endif
