/* run_records.h: what a run has to say, as records of an event file. Series have the names of
 * series_columns.h. */
#ifndef TINCA_SESSION_TENSORBOARD_RUN_RECORDS_H
#define TINCA_SESSION_TENSORBOARD_RUN_RECORDS_H

#include "session/config/config.h"
#include "session/prepare/prepare.h"
#include "session/tensorboard/event_log.h"
#include "session/values/run_facts.h"
#include "session/values/series.h"

/* Add the values of an iteration, and of a validation; `time.step` is their iteration. */
void run_records_add_point(struct event_log *log, struct event_time time,
                           const struct series_point *point);
void run_records_add_validation(struct event_log *log, struct event_time time,
                                const struct series_validation *validation);

/* Adds the result on the test set, as series_test_row gives it. */
void run_records_add_test(struct event_log *log, struct event_time time,
                          const struct series_validation *row);

/* Adds the settings: as a table in the text "configuration", and as hyperparameters. */
void run_records_add_settings(struct event_log *log, struct event_time time,
                              const struct run_config *config, const struct run_facts *facts);

/* Adds the first images of a batch as "samples/N", with their classes. Adds nothing if they do not
 * have 1 or 3 channels. */
void run_records_add_batch(struct event_log *log, struct event_time time,
                           const struct preparation *prepared, const struct execution_batch *batch);

/* Adds a picture of generated samples, a PNG file, as "generated". Adds nothing if it cannot be
 * read. */
void run_records_add_generated(struct event_log *log, struct event_time time, const char *path);

/* Adds the histogram of each learnable array, as "PREFIX/NAME", from values in host memory. */
void run_records_add_weights(struct event_log *log, struct event_time time, const char *prefix,
                             const struct weights *weights);

#endif
