/* sweep_jobs.h: computes the cells of a sweep.
 *
 * A cell is one configuration of the grid. Each cell is computed by a separate process, this
 * program with --cell (sweep_process.h). This process starts them and reports how they ended. Call
 * these functions from one thread.
 */
#ifndef TINCA_CLI_SWEEP_JOBS_H
#define TINCA_CLI_SWEEP_JOBS_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"

#include <stdbool.h>
#include <stddef.h>

struct sweep_jobs {
    size_t jobs; /* processes at the same time */
    bool quiet;
    bool wait; /* each cell takes a place in the queue of this machine's runs; needs jobs 1 */
};

/* Computes the cells that are waiting or interrupted. Returns the exit status: EXIT_INTERRUPTED if
 * a signal asked to stop, after the running cells have saved; EXIT_DONE also if cells failed. */
int sweep_jobs_run(struct sweep *sweep, struct sweep_estimate *estimate,
                   const struct sweep_jobs *jobs);

/* Computes one cell in this process, unless it is already computed or another process computes it.
 * With `wait` it waits for its turn in the queue before. Returns the exit status. */
int sweep_jobs_run_cell(struct sweep *sweep, size_t index, bool quiet, bool wait);

/* Applies the step of a technique that the file names (sweep_step.h) in this process, which another
 * one has started for it. Returns the exit status. */
int sweep_jobs_apply_step(const char *file);

#endif
