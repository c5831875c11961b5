/* series_columns.h: the curves of a run by name, for files that have one series after another. */
#ifndef TINCA_SESSION_VALUES_SERIES_COLUMNS_H
#define TINCA_SESSION_VALUES_SERIES_COLUMNS_H

#include "session/values/run_snapshot.h"
#include "session/values/series.h"

struct series_column {
    const char *name; /* "loss", "validation/top1" */
    size_t offset;    /* of a float, or of a uint64_t if is_count, in the row */
    bool is_count;    /* 0: not measured */
    bool always;      /* a value that is NaN is recorded; those of others do not exist */
};

/* The columns of struct series_point and of struct series_validation, without their iteration,
 * epoch and seconds. */
extern const struct series_column series_point_columns[];
extern const size_t series_point_column_count;
extern const struct series_column series_validation_columns[];
extern const size_t series_validation_column_count;

/* The columns of the result on the test set, which series_test_row makes a row of. */
extern const struct series_column series_test_columns[];
extern const size_t series_test_column_count;

/* Sets *row to the result on the test set, at the end of the run, where it was computed. Returns
 * false if there is none. */
bool series_test_row(const struct run_snapshot *end, struct series_validation *row);

/* Returns the value of a column in a row. */
double series_column_value(const struct series_column *column, const void *row);

/* Returns whether a row has a value in a column. */
bool series_column_has(const struct series_column *column, const void *row);

#endif
