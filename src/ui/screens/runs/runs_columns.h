/* runs_columns.h: the columns of the run table. They are chosen automatically (what identifies a
 * run, the settings in which the listed runs differ, and the figures that they have) or by hand. No
 * drawing. */
#ifndef TINCA_UI_SCREENS_RUNS_RUNS_COLUMNS_H
#define TINCA_UI_SCREENS_RUNS_RUNS_COLUMNS_H

#include "session/history/run_field.h"

#include <stdbool.h>
#include <stddef.h>

enum { RUNS_COLUMNS = 40 };

struct runs_column {
    size_t field;
    size_t changes;   /* of a setting: how often it differs from one run of the list to the next */
    int content;      /* columns that the widest cell or the heading takes */
    int start, width; /* results of runs_columns_fit; width 0: left out */
    bool right;       /* numbers */
};

struct runs_columns {
    struct runs_column list[RUNS_COLUMNS];
    size_t count;
    size_t chosen[RUNS_COLUMNS]; /* fields chosen by hand, in their order */
    size_t chosen_count;         /* 0: automatic */
};

/* Chooses the columns for `count` records and measures their contents. */
void runs_columns_choose(struct runs_columns *columns, const struct run_record *records,
                         size_t count);

/* Distributes `room` terminal columns from `start` on. A column of numbers gets all it needs or is
 * left out, so that no number is cut; the least important columns are left out first. */
void runs_columns_fit(struct runs_columns *columns, int start, int room);

/* Adds a field to the columns chosen by hand, or removes it. The first change begins with the
 * columns that are shown. */
void runs_columns_toggle(struct runs_columns *columns, size_t field);

/* Returns the place of a field among the columns that are shown, from 1 on; 0: it is not shown. */
size_t runs_columns_place(const struct runs_columns *columns, size_t field);

/* Returns the translated heading of a field. */
const char *runs_heading(size_t field);

/* Writes the cell of a record as the table shows it. Returns `text`. */
char *runs_cell(size_t field, const struct run_record *record, char *text, size_t size);

#endif
