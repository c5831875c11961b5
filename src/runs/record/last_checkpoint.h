/* last_checkpoint.h: where the last checkpoint of the run in this process is, for a handler of
 * crashes. It belongs to the process, as signals do; of several runs the last one counts. */
#ifndef TINCA_RUNS_RECORD_LAST_CHECKPOINT_H
#define TINCA_RUNS_RECORD_LAST_CHECKPOINT_H

#include <stdint.h>

/* Records that the run in `directory` has a checkpoint of this iteration (0: none yet), or, with
 * directory NULL, that no run is on. Only one thread may call it at a time. */
void last_checkpoint_set(const char *directory, uint64_t iteration);

/* Returns a translated clause that says what can be resumed, and how; "" if no run is on.
 * Async-signal-safe. */
const char *last_checkpoint_words(void);

#endif
