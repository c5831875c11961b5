/* listing.h: draws a table of texts with a selected row, which can be sorted by its columns, and
 * what the keys do with it; which columns of a table fit, how wide they are, and how it scrolls. */
#ifndef TINCA_UI_WIDGETS_LISTING_H
#define TINCA_UI_WIDGETS_LISTING_H

#include "base/escape/table.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"

#include <stdbool.h>
#include <stddef.h>

struct listing_column {
    const char *title;
    int width;    /* minimum, in terminal columns */
    int priority; /* 0: always shown; columns with higher numbers are left out first */
    bool right;   /* flush right, for numbers */
    bool grows;   /* shares the columns that are left over */
};

enum { LISTING_MAX_COLUMNS = 16 };

/* Sets where each column starts and how wide it is (0: left out) in a table of `columns` terminal
 * columns. One space separates two columns. */
void listing_fit(const struct listing_column *table, size_t count, int columns, int *starts,
                 int *widths);

/* Returns the first visible row such that `selected` is one of the `rows` visible ones; `top` is
 * the first visible row so far, `count` the number of all rows. */
size_t listing_scroll(size_t top, size_t selected, size_t rows, size_t count);

/* Sorted by column 0 the table has the order of its rows; sorted by another column the row with the
 * greatest key comes first, and NaN last. */
struct listing {
    const struct listing_column *columns;
    const struct table *texts; /* without headings; a cell of a sortable column has a key */
    unsigned sortable;         /* bit per column; 0: the order of the rows stays */
    bool plain;                /* the selected row has no mark before it */
    bool still;                /* no row is selected, and view->top is the first one drawn */
};

struct listing_row {
    double key;
    size_t row;
};

/* Selection, scrolling and sort order of a table. Starts as {0}. */
struct listing_view {
    size_t selected, top; /* positions in sorted order */
    size_t sort;          /* column */
    int turn;             /* steps by which the next frame changes the sort column */
    bool details; /* shows the details of the selected row if table and details do not both fit */
    bool both;    /* they did in the last frame */
    int page;     /* rows that the last frame showed */
    struct listing_row *order; /* rows in sorted order */
    size_t capacity;           /* elements of `order` */
};

/* Draws the headings and the rows, sorted. There must be at least one row.
 * Returns the number of the selected row. */
size_t listing_draw(struct listing_view *view, const struct listing *listing, struct canvas *canvas,
                    struct rect area);

/* Applies an action (move, sort, details) to the view. Returns false if it is none of these. */
bool listing_act(struct listing_view *view, enum action action);

/* Frees the sorted order. */
void listing_free(struct listing_view *view);

#endif
