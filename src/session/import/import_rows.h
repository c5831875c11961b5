/* import_rows.h: values that come with their names: a row of a table, a line of JSON, a scalar of
 * an event file, a progress bar. They become points and validations of the log. Internal to
 * session/import/. */
#ifndef TINCA_SESSION_IMPORT_IMPORT_ROWS_H
#define TINCA_SESSION_IMPORT_IMPORT_ROWS_H

#include "session/import/import_reader.h"

struct import_row {
    double values[IMPORT_QUANTITIES]; /* NaN with has false: not in the row */
    bool has[IMPORT_QUANTITIES];
};

/* Returns a row without values. */
struct import_row import_row_new(void);

/* Offers a name, so that the best one for each quantity is chosen before values are put. */
void import_row_offer(struct import_reader *reader, const char *name);

/* Puts a value into the row, if its name is the chosen one of a quantity. */
void import_row_put(struct import_reader *reader, struct import_row *row, const char *name,
                    double value);

/* Adds the row to the log. Rows without a step are counted, or are epochs. Returns false if memory
 * runs out. */
bool import_row_take(struct import_reader *reader, const struct import_row *row);

/* Completes a log that was read from rows: accuracies become percent, and steps count from 1. */
bool import_rows_settle(struct import_reader *reader);

/* Reads a time: seconds, or a date such as 2026-11-26T10:11:12.5Z. Returns NaN if it is none. */
double import_row_time(const char *text);

#endif
