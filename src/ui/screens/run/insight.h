/* insight.h: what the views of a run's insides (layers, GEMM, weights, arena) share: they request
 * an inspection from the run's worker, and show it in tables that scroll and can be sorted. */
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

/* The last request for an inspection and its answer. */
struct insight {
    const struct run *run; /* the run that was asked */
    uint64_t iteration;    /* iteration of the last answer; 0: none */
    uint64_t answered;     /* time of the last answer (clock_nanoseconds) */
    bool absent;           /* the last frame had none to show */
    bool asked;            /* a request is pending */
};

/* Requests an inspection of the run if there is none or it is old. Inspections are so rare that
 * they cost the run at most a hundredth of its time. */
void insight_request(struct insight *insight, struct run_entry *entry);

/* Returns the newest inspection, valid until the next call for this run. If there is none, it draws
 * into `area` why and what to do, and returns NULL. */
const struct inspection *insight_get(struct app *app, struct run_entry *entry, struct rect area);

/* Writes which iterations were measured, as the start of a sentence: "Iterations 5 to 20", or, for
 * a run that is over, "The last iterations, 485 to 500". Returns `text`. */
const char *insight_when(const struct inspection *seen, const struct run_entry *entry, char *text,
                         size_t size);

/* --- tables --- */

/* The contents of a table. Sorted by column 0 it has the order of its rows; sorted by another
 * column the row with the greatest key comes first. */
struct insight_table {
    const struct table_column *columns;
    size_t column_count, row_count;
    const void *context; /* passed to `cell` and `key` */
    void (*cell)(const void *context, size_t row, size_t column, char *text, size_t size);
    double (*key)(const void *context, size_t row, size_t column); /* NaN comes last */
    unsigned sortable;                                             /* bit per column */
};

struct insight_row {
    double key;
    size_t row;
};

/* Selection, scrolling and sort order of a table. Starts as {0}. */
struct insight_table_view {
    size_t selected, top; /* positions in sorted order */
    size_t sort;          /* column */
    int turn;             /* steps by which the next frame changes the sort column */
    bool details; /* shows the details of the selected row if table and details do not both fit */
    bool both;    /* they did in the last frame */
    int page;     /* rows that the last frame showed */
    struct insight_row *order; /* rows in sorted order */
    size_t capacity;           /* elements of `order` */
};

/* Draws the heading and the rows, sorted. `table` must have at least one row. Returns the number of
 * the selected row. */
size_t insight_table_draw(struct insight_table_view *view, const struct insight_table *table,
                          struct canvas *canvas, struct rect area);
/* Applies an action (move, sort, details) to the view. Returns false if it is none of these. */
bool insight_table_act(struct insight_table_view *view, enum action action);
/* Frees the sorted order. */
void insight_table_free(struct insight_table_view *view);

/* The parts of a view's area. */
struct insight_layout {
    struct rect summary, table, details; /* empty: not shown */
};
/* Returns how `area` is divided into a summary line, the table and `rows` lines of details. If
 * table and details do not both fit, one of them is shown, as view->details says. */
struct insight_layout insight_layout(struct insight_table_view *view, struct rect area, int rows);

/* Draws a formatted text from `row` on, in as many lines as it needs. Returns the row after it. */
int insight_draw_text(struct canvas *canvas, struct rect area, int row, enum role role,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Draws why a view has nothing to show. */
void insight_draw_absence(struct canvas *canvas, struct rect area, const char *why);
/* Draws `sentence` into one line or, if it does not fit, `brief`. */
void insight_draw_summary(struct canvas *canvas, struct rect area, enum role role,
                          const char *sentence, const char *brief);

#endif
