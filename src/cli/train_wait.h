/* train_wait.h: waits in the queue of this machine's runs (run_queue.h), for train, resume and
 * sweep. */
#ifndef TINCA_CLI_TRAIN_WAIT_H
#define TINCA_CLI_TRAIN_WAIT_H

#include "runs/history/run_queue.h"

/* Takes a place in the queue for `run` and waits for its turn; prints what it waits for unless
 * `quiet`, and once if the queue cannot be locked. The caller starts its run and then calls
 * run_queue_leave. Returns false with an error, and leaves the queue, if there is no place or a
 * stop signal comes (ERROR_INTERRUPTED). */
bool train_wait(const struct queued_run *run, bool quiet, struct run_queue_place *place,
                struct error *error);

#endif
