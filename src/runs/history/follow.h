/* follow.h: follows a run that another process trains, by reading its files.
 *
 * Each step reads what was appended to the journal; the trainer is not involved. The result is an
 * ordinary run (snapshot, series, findings), which other threads may read meanwhile. One thread at
 * a time may call follow_step, which never waits for the other process. */
#ifndef TINCA_RUNS_HISTORY_FOLLOW_H
#define TINCA_RUNS_HISTORY_FOLLOW_H

#include "runs/record/run.h"

enum follow_result {
    FOLLOW_UNCHANGED,
    FOLLOW_UPDATED,
    FOLLOW_MORE,   /* updated, and there is more to read: call follow_step again soon */
    FOLLOW_REOPEN, /* the run was resumed from an earlier iteration: free it and open it again */
};

/* Opens a run and reads the first piece of its journal; follow_step reads the rest. Free it with
 * run_free. Returns NULL with an error. */
struct run *follow_open(const char *directory, struct error *error);

/* Reads what is new; does nothing once the run is over. If the process has ended without writing a
 * summary, the run becomes RUN_INTERRUPTED. If a file cannot be read at present, the error is in
 * the snapshot until it can. */
enum follow_result follow_step(struct run *run);

/* Returns the seconds since the journal was last written; negative if unknown. Thread-safe. */
double follow_silence(const struct run *run);

/* Returns the number of the run's process if it is halted (SIGSTOP, Ctrl-Z), so that the run gets
 * no further and its snapshot has no remaining time; otherwise 0, also for a run of this process.
 * Thread-safe. */
long follow_halted(const struct run *run);

#endif
