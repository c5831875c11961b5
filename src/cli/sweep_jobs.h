/* sweep_jobs.h: working off a sweep.
 *
 * Every cell is computed by a process of its own (this program again, for one cell), so that what
 * one cell does, running out of memory included, cannot harm the others, and so that the memory
 * that is measured is the cell's alone. This process only starts them, watches their files and
 * writes down what became of them.
 */
#ifndef TINCA_CLI_SWEEP_JOBS_H
#define TINCA_CLI_SWEEP_JOBS_H

#include "session/sweep/sweep.h"
#include "session/sweep/sweep_estimate.h"

#include <stdbool.h>
#include <stddef.h>

struct sweep_jobs {
    size_t jobs; /* at a time */
    bool quiet;
};

/* Runs what is due. Returns the exit status: interrupted when a signal asked to stop, and what was
 * on is saved; done also where cells failed. */
int sweep_jobs_run(struct sweep *sweep, struct sweep_estimate *estimate,
                   const struct sweep_jobs *jobs);

/* Runs one cell in this process, unless it is computed or another process is at it. Returns the
 * exit status. */
int sweep_jobs_run_cell(struct sweep *sweep, size_t index, bool quiet);

#endif
