/* run_open.h: runs from their directories: one that is over is shown by the same code as one that
 * is on. */
#ifndef TINCA_SESSION_RECORD_RUN_OPEN_H
#define TINCA_SESSION_RECORD_RUN_OPEN_H

#include "session/record/run.h"

/* A run from its directory, finished or interrupted: only to be looked at. One that another process
 * has stays as it was found; follow.h goes along with it. */
struct run *run_open(const char *directory, struct error *error);

/* What a kept run's config.json and summary.json tell, without its journal: the end of the run, no
 * curves. `facts` hold what the configuration knows (no parameters). */
struct run_outline {
    struct run_config config;
    struct run_facts facts;
    struct run_snapshot snapshot;
};
bool run_peek(const char *directory, struct run_outline *outline, struct error *error);

#endif
