/* runs.h: opens the run that a command line names. */
#ifndef TINCA_CLI_RUNS_H
#define TINCA_CLI_RUNS_H

#include "base/error.h"
#include "runs/record/run.h"

#include <stddef.h>

/* Opens a run by its ID, the beginning of its ID, its name, or its folder. The caller frees it with
 * run_free. Returns NULL with an error if it cannot be found or read. */
struct run *runs_open(const char *id, struct error *error);

/* Runs that operands name. */
struct opened_runs { /* starts as {0} */
    struct run **list;
    size_t count, capacity;
};

/* Opens the run, or all runs of the group of seeds, that an operand names, and adds them. Returns
 * false with an error. */
bool runs_open_operand(struct opened_runs *runs, const char *operand, struct error *error);

/* Frees the runs and leaves `*runs` {0}. */
void runs_close(struct opened_runs *runs);

#endif
