/* listing.h: draws a table of texts with a selected row, which can be sorted by its columns;
 * computes which columns of a table fit, how wide they are, and how any list scrolls and moves. */
#ifndef TINCA_UI_WIDGETS_LISTING_H
#define TINCA_UI_WIDGETS_LISTING_H

#include "base/escape/table.h"
#include "ui/terminal/draw.h"

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

/* The ways in which a list's selection, a text's first line or a plot's cursor moves. */
enum move {
    MOVE_UP,
    MOVE_DOWN,
    MOVE_PAGE_UP,
    MOVE_PAGE_DOWN,
    MOVE_FIRST,
    MOVE_LAST,
    MOVE_LEFT,
    MOVE_RIGHT,
    MOVES
};

/* Returns how the key moves, or MOVES: it does not. */
enum move move_of_key(int key);

/* Returns how many steps a move is, in either direction, where a page has `page` rows: `all` to an
 * end, 0 sideways. */
long move_steps(int move, long page, long all);

/* Returns the number of the row of `count` that is `steps` below row `at`, but at most the last and
 * at least the first. */
size_t list_step(size_t at, long steps, size_t count);

/* Returns the selected row after a move from row `at` of `count`, where a page has `page` rows. */
size_t list_move(size_t at, int move, size_t page, size_t count);

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

/* Moves (enum move) to another row; sideways it sorts by another column. */
void listing_move(struct listing_view *view, int how);

/* Frees the sorted order. */
void listing_free(struct listing_view *view);

/* --- short names ---
 *
 * the names of a list, shortened to a width so that different names stay different.
 * No drawing. */

enum { SHORT_NAME_SIZE = 128 };

struct short_names { /* starts as {0} */
    char *texts;     /* count texts of SHORT_NAME_SIZE bytes; NULL: out of memory */
    size_t count;
};

/* Writes name `index` of the list into `text`. */
typedef void short_names_writer(const void *context, size_t index, char *text, size_t size);

/* Makes the list of `count` names, each at most `columns` wide; `mark` (one column) stands where
 * something was left out. Free it with short_names_free. */
void short_names_make(struct short_names *list, size_t count, int columns, const char *mark,
                      short_names_writer *writer, const void *context);
/* Returns name `index` shortened, or `name` itself if there was no memory for the list. */
const char *short_names_get(const struct short_names *list, size_t index, const char *name);
/* Frees the list. */
void short_names_free(struct short_names *list);

#endif
