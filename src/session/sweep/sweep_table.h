/* sweep_table.h: what a sweep came to: the studies' tables and one JSON document.
 *
 * A table's rows are what varies besides the batch, its columns the batches. What a cell has no
 * figure for says why in a word: it waits, failed, cannot fit.
 */
#ifndef TINCA_SESSION_SWEEP_SWEEP_TABLE_H
#define TINCA_SESSION_SWEEP_SWEEP_TABLE_H

#include "base/text.h"
#include "session/sweep/sweep.h"
#include "session/sweep/sweep_estimate.h"

enum sweep_measure {
    SWEEP_MS_PER_IMAGE,
    SWEEP_MEMORY,         /* the most that was measured; before a run its forecast has its own */
    SWEEP_LOSS,           /* of the last iteration */
    SWEEP_FIRST_NEGATIVE, /* iteration at which Caffe's running mean fell below zero */
    SWEEP_TOP1,
    SWEEP_FORECAST, /* of memory, before anything has run */
    SWEEP_MEASURES
};
const char *sweep_measure_title(enum sweep_measure measure); /* translated */

/* The figure as a number; NaN: there is none. */
double sweep_cell_value(const struct sweep_cell *cell, enum sweep_measure measure);
/* The figure as text, or the word for its state. Returns `text`. */
char *sweep_cell_text(const struct sweep_cell *cell, enum sweep_measure measure, char *text,
                      size_t size);

/* Why a cell diverged, failed, cannot fit or was skipped, and what to do. Returns `text`. */
char *sweep_reason_text(const struct sweep_cell *cell, char *text, size_t size);

/* Appends the tables for which there is a figure: of one measure each, then the speed-up of every
 * pair of devices, then what diverged, and what failed, cannot fit or was skipped, and why. */
void sweep_write_tables(const struct sweep *sweep, bool markdown, struct text *text);

/* How often faster the cell of the second device is than that of the first; NaN: not known. The
 * rows differ in nothing but the device. */
double sweep_speedup(const struct sweep *sweep, size_t slow_row, size_t fast_row, size_t column);

/* {"format": "tinca-sweep-results", ...}; NULL: out of memory. `estimate` may be NULL. */
struct json *sweep_to_json(const struct sweep *sweep, const struct sweep_estimate *estimate);

#endif
