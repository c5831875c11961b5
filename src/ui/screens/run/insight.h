/* insight.h: what the views inside a run share: looks are asked for while one of them is in sight,
 * and tables of what was seen that scroll and are sorted. */
#ifndef TINCA_UI_SCREENS_RUN_INSIGHT_H
#define TINCA_UI_SCREENS_RUN_INSIGHT_H

#include "session/values/inspection.h"
#include "ui/shared/run_list.h"
#include "ui/terminal/draw.h"
#include "ui/terminal/keys.h"
#include "ui/widgets/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct app;

/* When the run in sight was asked last, and when it answered. */
struct insight {
    const struct run *run;
    uint64_t iteration; /* of the last answer; 0: none */
    uint64_t answered;  /* clock_nanoseconds */
    bool asked;         /* no answer yet */
};

/* Asks for a look, when there is none or it is old. Looks cost the run at most a hundredth of its
 * time. */
void insight_request(struct insight *insight, struct run_entry *entry);

/* What was seen, to be used at once; NULL: nothing, and `area` says why and what to do. */
const struct inspection *insight_get(struct app *app, struct run_entry *entry, struct rect area);

/* --- tables --- */

/* Rows of what was seen. Sorted by a column with a key: in the order of the rows for the first
 * one, else the greatest first. */
struct insight_table {
    const struct table_column *columns;
    size_t column_count, row_count;
    const void *context;
    void (*cell)(const void *context, size_t row, size_t column, char *text, size_t size);
    double (*key)(const void *context, size_t row, size_t column); /* NaN comes last */
    unsigned sortable;                                             /* a bit a column */
};

struct insight_row {
    double key;
    size_t row;
};

struct insight_table_view {
    size_t selected, top; /* places in sorted order */
    size_t sort;          /* a column */
    int turn;             /* of the sort column, to be taken when the columns are known */
    bool details;         /* where both have no room: the selected row instead of the table */
    int page;             /* rows in sight */
    struct insight_row *order;
    size_t capacity;
};

/* Draws heading and rows; returns the number of the selected row. row_count > 0. */
size_t insight_table_draw(struct insight_table_view *view, const struct insight_table *table,
                          struct canvas *canvas, struct rect area);
bool insight_table_act(struct insight_table_view *view, enum action action);
void insight_table_free(struct insight_table_view *view);

/* Splits an area: a line that sums up, the table, and details of `rows` lines below it, which where
 * there is no room for both replace the table (view->details) or are left out. */
struct insight_layout {
    struct rect summary, table, details; /* empty: not in sight */
};
struct insight_layout insight_layout(const struct insight_table_view *view, struct rect area,
                                     int rows);

/* A sentence from `row` on, as many lines as it takes; returns the row after it. printf's. */
int insight_draw_text(struct canvas *canvas, struct rect area, int row, enum role role,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The line that sums up: the whole sentence or, where it does not fit, the short one. */
void insight_draw_summary(struct canvas *canvas, struct rect area, enum role role,
                          const char *sentence, const char *brief);

#endif
