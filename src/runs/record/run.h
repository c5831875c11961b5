/* run.h: one training of one configuration, in a worker thread.
 *
 * The worker publishes a snapshot under a sequence counter: a reader copies it without a lock and
 * without ever making the worker wait. Commands go the other way through one small queue. The run
 * directory (run_directory.h) has everything that a view shows: a saved run is the same `struct
 * run` without a worker.
 */
#ifndef TINCA_RUNS_RECORD_RUN_H
#define TINCA_RUNS_RECORD_RUN_H

#include "runs/folder/inspection.h"
#include "runs/settings/config.h"
#include "runs/values/finding.h"
#include "runs/values/run_facts.h"
#include "runs/values/run_ranks.h"
#include "runs/values/run_snapshot.h"
#include "runs/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_command {
    COMMAND_PAUSE,
    COMMAND_GO_ON,
    COMMAND_STOP,          /* after this iteration, save */
    COMMAND_STOP_AT_EPOCH, /* after this epoch, save */
    COMMAND_SAVE,          /* model and checkpoint now */
    COMMAND_FLUSH,         /* write the journal now: run_flush waits for it */
    COMMAND_LEARNING_RATE, /* value: the rate from the next iteration on */
    COMMAND_INSPECT, /* measure the next iterations: run_inspection returns the result later */
};

struct run;

/* Stops the run if it is not over, waits for the worker, and frees the run. NULL is allowed. */
void run_free(struct run *run);

/* Adds a user to the run and returns it; the last run_free of all users frees it. One thread may
 * follow a run (follow.h) while another shows it. */
struct run *run_share(struct run *run);

const struct run_config *run_config(const struct run *run);
const struct run_facts *run_facts(const struct run *run);
/* Returns what a resumed run reported before its first iteration although it could continue (a
 * damaged checkpoint or journal, another instruction set, a file that it will not write); kind
 * ERROR_NONE: nothing. Valid once the run is no longer RUN_PREPARING. */
const struct error *run_notice(const struct run *run);
/* Returns what is wrong with the journal of a finished run that run_open has read; kind ERROR_NONE:
 * nothing. A finding of the kind "journal" has the same text. */
const struct error *run_damage(const struct run *run);
/* Copies the present snapshot. */
void run_snapshot(const struct run *run, struct run_snapshot *snapshot);
/* Returns the curves, which are empty until the run is prepared. Call it each time: the address
 * changes once. */
const struct series *run_series(const struct run *run);
/* Returns the series of other names, of a run that was opened from its folder. */
const struct scalars *run_scalars(const struct run *run);
/* Copies finding `index` (< snapshot.finding_count). */
void run_finding(const struct run *run, size_t index, struct finding *finding);

/* Returns the newest inspection of the run, or the saved one of a finished run; NULL with
 * error->kind ERROR_NONE if there is none. Never waits, and never makes the worker wait. The result
 * belongs to the run and is valid until the next call. Only one thread may call it at a time. */
const struct inspection *run_inspection(struct run *run, struct error *error);

/* Returns how many processes have trained the run together, as far as that was recorded; 0: one
 * alone. */
size_t run_rank_count(const struct run *run);
/* Replaces `ranks` by a copy of their figures: of a running run as they were some seconds ago, of
 * one that is over means over all iterations of the last processes. Returns false if out of memory.
 * Any thread may call it. */
bool run_ranks(const struct run *run, struct run_ranks *ranks);

/* Sends a command to the worker. Returns false for a run without a worker (run_open). Never blocks;
 * of two contrary commands the later one counts. Async-signal-safe. */
bool run_send(struct run *run, enum run_command command, double value);
/* Waits until the journal in the folder of a run of this process has all iterations, but no longer
 * than a second: an iteration that takes longer is written as soon as it ends. */
void run_flush(struct run *run);

/* Blocks until the run is over or `seconds` have passed (negative: without limit). Returns whether
 * it is over. */
bool run_wait(struct run *run, double seconds);

#endif
