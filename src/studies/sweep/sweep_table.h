/* sweep_table.h: the results of a sweep as the studies' tables and as one JSON document.
 *
 * A table has a row for each combination of settings other than the batch, and a column for each
 * batch. A cell without a figure shows its state: waiting, failed, cannot fit.
 */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_TABLE_H
#define TINCA_STUDIES_SWEEP_SWEEP_TABLE_H

#include "base/text.h"
#include "runs/values/statistics.h"
#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"

enum sweep_measure {
    SWEEP_MS_PER_IMAGE,
    SWEEP_MEMORY,         /* highest measured; the forecast is SWEEP_FORECAST */
    SWEEP_LOSS,           /* loss of the last iteration */
    SWEEP_FIRST_NEGATIVE, /* first iteration with a negative Caffe mean */
    SWEEP_TOP1,
    SWEEP_TEST_TOP1,
    SWEEP_FORECAST, /* memory forecast, known before the run */
    SWEEP_MEASURES
};
const char *sweep_measure_title(enum sweep_measure measure); /* translated */

/* Returns a figure of the cell, or NaN if there is none. */
double sweep_cell_value(const struct sweep_cell *cell, enum sweep_measure measure);
/* Writes the figure, or the word for the cell's state. Returns `text`. */
char *sweep_cell_text(const struct sweep_cell *cell, enum sweep_measure measure, char *text,
                      size_t size);

/* Writes why a cell diverged, failed, cannot fit or was skipped, and what to do. Returns `text`. */
char *sweep_reason_text(const struct sweep_cell *cell, char *text, size_t size);

/* Writes the number, the name and the state of a cell, with its figures if it is done and the
 * reason if there is one: "3/12 lenet-b004-cpu-1f2e3d4c: done, 0.31 ms/image, loss 1.2". Its result
 * must have been read. Returns `text`. */
char *sweep_outcome_text(const struct sweep *sweep, size_t index, char *text, size_t size);

/* Appends one table for each measure that has figures, then the speed-up of every pair of devices,
 * then the list of cells that diverged, failed, cannot fit or were skipped, with reasons. */
void sweep_write_tables(const struct sweep *sweep, bool markdown, struct text *text);

/* Returns whether two cells differ in their seed only. */
bool sweep_seeds_are_alike(const struct sweep *sweep, size_t a, size_t b);
/* Computes the statistics of a figure over the cells that differ from cell `member` in their seed
 * only; *count of them have the figure. Returns false if memory runs out. */
bool sweep_seeds_compute(const struct sweep *sweep, size_t member, enum sweep_measure measure,
                         size_t *count, struct statistics *statistics);
/* Adds an object for each group of seeds. Returns false if memory runs out. */
bool sweep_seeds_to_json(const struct sweep *sweep, struct json *list);

/* Returns the speed-up of the second row's device over the first row's in a column, or NaN if
 * unknown. The rows must differ in the device only. */
double sweep_speedup(const struct sweep *sweep, size_t slow_row, size_t fast_row, size_t column);

/* Returns {"format": "tinca-sweep-results", ...}, owned by the caller, or NULL if memory runs out.
 * `estimate` may be NULL. */
struct json *sweep_to_json(const struct sweep *sweep, const struct sweep_estimate *estimate);

#endif
