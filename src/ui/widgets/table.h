/* table.h: computes which columns of a table fit, how wide they are, and how a table scrolls. */
#ifndef TINCA_UI_WIDGETS_TABLE_H
#define TINCA_UI_WIDGETS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table_column {
    const char *title;
    int width;    /* minimum, in terminal columns */
    int priority; /* 0: always shown; columns with higher numbers are left out first */
    bool right;   /* flush right, for numbers */
    bool grows;   /* shares the columns that are left over */
};

enum { TABLE_MAX_COLUMNS = 16 };

/* Sets where each column starts and how wide it is (0: left out) in a table of `columns` terminal
 * columns. One space separates two columns. */
void table_fit(const struct table_column *table, size_t count, int columns, int *starts,
               int *widths);

/* Returns the first visible row such that `selected` is one of the `rows` visible ones; `top` is
 * the first visible row so far, `count` the number of all rows. */
size_t table_scroll(size_t top, size_t selected, size_t rows, size_t count);

#endif
