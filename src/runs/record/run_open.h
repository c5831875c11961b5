/* run_open.h: opens runs from their folders, so that the same code shows finished and live runs. */
#ifndef TINCA_RUNS_RECORD_RUN_OPEN_H
#define TINCA_RUNS_RECORD_RUN_OPEN_H

#include "runs/record/run.h"

/* Opens a run for reading. A run of another process is shown as it is now; follow.h follows it.
 * Returns NULL with an error if the folder has no readable run. */
struct run *run_open(const char *directory, struct error *error);

/* The contents of a run's config.json and summary.json and the start event of its journal: the end
 * of the run, without curves. `facts` lacks the parameters if the run never began. */
struct run_outline {
    struct run_config config;
    struct run_facts facts;
    struct run_snapshot snapshot;
};
/* Reads an outline. Returns false with an error if config.json cannot be read. */
bool run_peek(const char *directory, struct run_outline *outline, struct error *error);

#endif
