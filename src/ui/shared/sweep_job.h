/* sweep_job.h: the sweep that is open, and its cells that are computed one after the other.
 *
 * A sweep that is on puts one cell at a time at the end of the list of runs when that list has
 * nothing else to do. Reading the cells' results takes time, so it is done one cell at a time. */
#ifndef TINCA_UI_SHARED_SWEEP_JOB_H
#define TINCA_UI_SHARED_SWEEP_JOB_H

#include "session/sweep/sweep.h"
#include "session/sweep/sweep_estimate.h"
#include "ui/shared/run_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_job {                  /* starts as {0} */
    struct sweep sweep;             /* count 0: none is open */
    struct sweep_estimate estimate; /* of times, from saved runs and from its cells */
    bool learnt;                    /* the saved runs are in the estimate */
    size_t read;                    /* how many cells' states and results are read */
    bool on, paused, stop_after;    /* stop_after: the present cell is the last one */
    bool *tried;                    /* one flag a cell: none is started twice */
    const struct run *run;          /* of the present cell; NULL: none. It belongs to the list */
    size_t cell;                    /* the present cell */
    int lock;                       /* its lock */
    uint64_t polled;                /* when other processes' cells were read last */
};

/* Frees the sweep. Its runs belong to the list and are not stopped. */
void sweep_job_free(struct sweep_job *job);

/* Makes the sweep of a grid and starts it. Errors: another one is on; no memory; no space. */
bool sweep_job_start(struct sweep_job *job, struct sweep_grid *grid, struct error *error);
/* Opens a saved sweep without starting it. Errors: one is on; it cannot be read. */
bool sweep_job_open(struct sweep_job *job, const char *name, struct error *error);
/* Starts the open sweep, or goes on with it. Error: none is open. */
bool sweep_job_continue(struct sweep_job *job, struct error *error);
/* Starts no more cells; the present one goes on. */
void sweep_job_stop(struct sweep_job *job);

/* Adds the saved runs to the estimate, once. Returns whether it did so in this call. */
bool sweep_job_add_saved_times(struct sweep_job *job);
/* Reads the next cell's state and result. Returns whether there are more. */
bool sweep_job_read(struct sweep_job *job);

/* Takes the end of the present cell and starts the next one. Returns whether the sweep has ended
 * with this call. */
bool sweep_job_step(struct sweep_job *job, struct run_list *runs);
/* Returns whether sweep_job_step has something to follow: it is on, here or in another process. */
bool sweep_job_is_live(const struct sweep_job *job);

/* Returns the entry of a cell's run, or NULL if this session did not start it. */
struct run_entry *sweep_job_entry(const struct sweep_job *job, struct run_list *runs, size_t cell);
/* Returns how many cells are still to be run. */
size_t sweep_job_due(const struct sweep_job *job);

/* Writes how many cells there are in each state: "12 cells, 9 waiting, 3 done". Returns `text`. */
char *sweep_counts_text(const struct sweep *sweep, char *text, size_t size);

#endif
