/* run.h: one training of one configuration, in a worker thread of its own.
 *
 * The worker publishes a snapshot under a sequence counter: a reader copies it without a lock and
 * without ever making the worker wait. Commands go the other way through one small queue. The run
 * directory (run_directory.h) holds everything a view shows, so that a finished run, opened again,
 * is the same `struct run` without a worker.
 */
#ifndef TINCA_SESSION_RECORD_RUN_H
#define TINCA_SESSION_RECORD_RUN_H

#include "session/config/config.h"
#include "session/values/finding.h"
#include "session/values/inspection.h"
#include "session/values/run_facts.h"
#include "session/values/run_snapshot.h"
#include "session/values/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_command {
    COMMAND_PAUSE,
    COMMAND_GO_ON,
    COMMAND_STOP,          /* after this iteration, save */
    COMMAND_STOP_AT_EPOCH, /* after this epoch, save */
    COMMAND_SAVE,          /* model and checkpoint now */
    COMMAND_LEARNING_RATE, /* value: the rate from the next iteration on */
    COMMAND_INSPECT,       /* look inside the next iterations: run_inspection has it later */
};

struct run;

/* Waits for the worker (after asking it to stop, when it is not over) and frees. May be NULL. */
void run_free(struct run *run);

/* Returns the run, which is freed by the last run_free of all who share it: one thread may read on
 * (follow.h) what another shows. */
struct run *run_share(struct run *run);

const struct run_config *run_config(const struct run *run);
const struct run_facts *run_facts(const struct run *run);
/* What a resumed run met before its first iteration and went on from all the same (a damaged
 * checkpoint or journal, another instruction set); kind ERROR_NONE: nothing. To be asked for when
 * the run is no longer RUN_PREPARING. */
const struct error *run_notice(const struct run *run);
/* What is wrong with the journal of a run that run_open has read and that is over; kind ERROR_NONE:
 * nothing. A finding of the kind "journal" says the same. */
const struct error *run_damage(const struct run *run);
void run_snapshot(const struct run *run, struct run_snapshot *snapshot);
/* Empty until the run is prepared; ask again each time, the address may change once. */
const struct series *run_series(const struct run *run);
/* Copies finding `index` (< snapshot.finding_count). */
void run_finding(const struct run *run, size_t index, struct finding *finding);

/* The newest look inside the run, or of one that is over the look that its directory has kept; NULL
 * with error->kind ERROR_NONE: nobody has looked yet. Never waits, and never makes the worker wait.
 * Belongs to the run and lives until the next call; to be called by one thread at a time. */
const struct inspection *run_inspection(struct run *run, struct error *error);

/* False for a run without a worker (run_open). Never blocks and is never full; of two contrary
 * commands the later one counts. Async-signal-safe. */
bool run_send(struct run *run, enum run_command command, double value);

/* Blocks until the run is over or `seconds` have passed (negative: without limit); true when over.
 */
bool run_wait(struct run *run, double seconds);

#endif
