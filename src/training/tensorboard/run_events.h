/* run_events.h: the event file of a run that trains (the setting tensorboard); all of it
 * belongs to the worker thread.
 *
 * The file is in TENSORBOARD/ID/, so that TensorBoard shows each run under its ID. A run that is
 * resumed writes another file there, which begins where the checkpoint ended. Without the setting,
 * the functions do nothing. Records are collected in memory and written once a second, in the
 * worker thread, like the journal. */
#ifndef TINCA_TRAINING_TENSORBOARD_RUN_EVENTS_H
#define TINCA_TRAINING_TENSORBOARD_RUN_EVENTS_H

#include "runs/settings/config.h"
#include "runs/values/run_facts.h"
#include "runs/values/series.h"
#include "training/prepare/prepare.h"
#include "training/tensorboard/event_file.h"

struct run_events {
    struct event_file file;
    uint64_t step;      /* of the last iteration that was added */
    uint64_t written;   /* last step in the file, with all before it */
    double seconds;     /* spent on histograms */
    double cost;        /* seconds that the last ones took */
    uint64_t histogram; /* the step of the last ones */
    bool reported;      /* the run knows that the file ended before it */
};

/* Begins the file of a run whose next iteration follows `done` iterations, and adds the settings.
 * Returns false with an error. */
bool run_events_open(struct run_events *events, const struct run_config *config,
                     const struct run_facts *facts, uint64_t done, struct error *error);

/* Adds an iteration; writes the waiting records if it is time. `now` is clock_nanoseconds. */
void run_events_add_point(struct run_events *events, const struct series_point *point,
                          uint64_t now);

void run_events_add_validation(struct run_events *events,
                               const struct series_validation *validation);

/* Adds the result on the test set, as series_test_row gives it. */
void run_events_add_test(struct run_events *events, const struct series_validation *row);

/* Adds pictures of the batch, if no iteration was computed yet. */
void run_events_add_batch(struct run_events *events, const struct preparation *prepared,
                          const struct execution_batch *batch);

/* Adds a picture of generated samples (a PNG file). */
void run_events_add_generated(struct run_events *events, const char *path);

/* Adds histograms of the weights, unless this step has them already. All of them together take at
 * most a twentieth of the run's time, `run_seconds` so far: others are left out, except those of
 * the `last` step. */
void run_events_add_weights(struct run_events *events, const struct preparation *prepared,
                            double run_seconds, bool last);

/* Writes the waiting records. */
void run_events_flush(struct run_events *events);

/* Writes the waiting records and syncs the file before a checkpoint, so that records before it are
 * not missing after a power cut. Records that cannot be written are written with the next call. */
void run_events_sync(struct run_events *events);

/* Returns whether the file has all records so far; otherwise *error says why, and where it ends.
 * Fills *error once, when the file has ended before the run, or if `last` is true and something is
 * missing at the end of the run. */
bool run_events_check(struct run_events *events, bool last, struct error *error);

/* Adds the end of the run, and writes the waiting records. */
void run_events_add_end(struct run_events *events, bool success);

/* Closes the file and leaves {0}. */
void run_events_close(struct run_events *events);

#endif
