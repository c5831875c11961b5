/* runs.h: opens the run that a command line names. */
#ifndef TINCA_CLI_RUNS_H
#define TINCA_CLI_RUNS_H

#include "base/error.h"
#include "session/record/run.h"

/* Opens a run by its ID, the beginning of its ID, its name, or its folder. The caller frees it with
 * run_free. Returns NULL with an error if it cannot be found or read. */
struct run *runs_open(const char *id, struct error *error);

#endif
