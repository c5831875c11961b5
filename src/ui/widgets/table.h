/* table.h: which columns of a table fit, and how wide they are. */
#ifndef TINCA_UI_WIDGETS_TABLE_H
#define TINCA_UI_WIDGETS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct table_column {
    const char *title;
    int width;    /* at least */
    int priority; /* 0 is always there; higher ones go first when room is short */
    bool right;   /* figures */
    bool grows;   /* takes what room is left */
};

enum { TABLE_MAX_COLUMNS = 16 };

/* Fills `starts` and `widths` (0: not shown) for `columns` terminal columns; one column of space
 * lies between two of them. */
void table_fit(const struct table_column *table, size_t count, int columns, int *starts,
               int *widths);

/* The first row in sight so that `selected` is among `rows`; `top` is where it was. */
size_t table_scroll(size_t top, size_t selected, size_t rows, size_t count);

#endif
