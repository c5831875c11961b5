/* run_rows.h: the iterations and validations of a run in the order of its journal, which has all of
 * them: a long run's series in memory do not. */
#ifndef TINCA_RUNS_FOLDER_RUN_ROWS_H
#define TINCA_RUNS_FOLDER_RUN_ROWS_H

#include "base/error.h"
#include "runs/values/series.h"

/* The functions that are called for each iteration and each validation. One that returns false,
 * with an error, ends the reading. */
struct run_rows {
    void *context;
    bool (*point)(void *context, const struct series_point *point, struct error *error);
    bool (*validation)(void *context, const struct series_validation *validation,
                       struct error *error);
};

/* Reads the journal in the folder of a run. Returns false with an error. */
bool run_rows_read(const char *directory, const struct run_rows *rows, struct error *error);

#endif
