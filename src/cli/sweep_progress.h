/* sweep_progress.h: what a sweep prints on standard error while it computes: a line for each cell
 * that has ended, and the cells that run, as a live line on a terminal, otherwise every few
 * seconds. */
#ifndef TINCA_CLI_SWEEP_PROGRESS_H
#define TINCA_CLI_SWEEP_PROGRESS_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"

#include <stdbool.h>
#include <stddef.h>

struct sweep_progress {
    struct sweep *sweep;
    const struct sweep_estimate *estimate;
    bool quiet;
    bool terminal;  /* standard error is a terminal */
    bool line_open; /* the terminal shows a line that will be rewritten */
    double shown;   /* the clock at the last line of progress, in seconds */
};

/* Begins to print. Sweep and estimate must live as long. `quiet`: nothing is printed. */
struct sweep_progress sweep_progress_begin(struct sweep *sweep,
                                           const struct sweep_estimate *estimate, bool quiet);

/* Prints the state of a cell, and where it was computed (NULL: here). */
void sweep_progress_print_cell(struct sweep_progress *progress, size_t cell, const char *where);

/* Prints how far the cells are that run, and the time left, which `jobs` cells at a time take. Does
 * nothing if it printed that a moment ago. */
void sweep_progress_show(struct sweep_progress *progress, const size_t *running, size_t count,
                         size_t jobs);

/* Erases the live line, before something else is printed. */
void sweep_progress_clear(struct sweep_progress *progress);

#endif
