/* follow.h: a run that another process has, read while it is on.
 *
 * Only files are read, each time what is new of the journal: the trainer notices nothing. The run
 * looks like any other one (snapshot, series, findings), also to another thread while this one
 * reads on. follow_step is for one thread at a time, and never waits for the other process. */
#ifndef TINCA_SESSION_HISTORY_FOLLOW_H
#define TINCA_SESSION_HISTORY_FOLLOW_H

#include "session/record/run.h"

enum follow_result {
    FOLLOW_UNCHANGED,
    FOLLOW_UPDATED,
    FOLLOW_MORE,   /* news, and more of them: to be called again soon */
    FOLLOW_REOPEN, /* it has gone on from an earlier iteration: free this run and open it anew */
};

/* Opens a run with the first piece of its journal; follow_step reads the rest. To be freed with
 * run_free. NULL when it cannot be read. */
struct run *follow_open(const char *directory, struct error *error);

/* Takes in what is new; once the run is over nothing changes any more. Its process gone without a
 * word makes it RUN_INTERRUPTED. What cannot be read now is the snapshot's error until it can. */
enum follow_result follow_step(struct run *run);

/* Seconds since the journal was written last; negative: not known. For any thread. */
double follow_silence(const struct run *run);

#endif
