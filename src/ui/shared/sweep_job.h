/* sweep_job.h: the open sweep, whose cells are run one after the other.
 *
 * While the sweep is on, sweep_job_step starts one cell at a time, in a process of its own
 * (sweep_process.h), when the list of runs has nothing to do. Meanwhile that list is held, so that
 * no run disturbs the cell's times. Reading the cells' results takes time, so one call reads one
 * cell. */
#ifndef TINCA_UI_SHARED_SWEEP_JOB_H
#define TINCA_UI_SHARED_SWEEP_JOB_H

#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_process.h"
#include "ui/shared/run_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_job {                  /* starts as {0} */
    struct sweep sweep;             /* count 0: none is open */
    struct sweep_estimate estimate; /* estimate of times, from saved runs and from the cells */
    bool has_saved_times;           /* the estimate includes the saved runs */
    size_t read;                    /* how many cells' states and results have been read */
    bool on;                        /* cells are started */
    bool paused;                    /* the current cell saves and ends; no other is started */
    bool stop_after;                /* the sweep stops after the current cell */
    bool *tried;                    /* [cells]: started or refused already, so not started again */
    struct sweep_process process;   /* computes the current cell; id 0: none does */
    uint64_t polled;                /* when the cells of other processes were last read */
};

/* Frees the sweep. The process of its current cell goes on; sweep_job_stop_now asks it to stop. */
void sweep_job_free(struct sweep_job *job);

/* Makes the sweep of a grid, saves it and starts it. Fails if another sweep is on, if out of
 * memory, or if it cannot be saved. */
bool sweep_job_start(struct sweep_job *job, struct sweep_grid *grid, struct error *error);

/* Opens a saved sweep without starting it. Fails if a sweep is on or the saved one cannot be read.
 */
bool sweep_job_open(struct sweep_job *job, const char *name, struct error *error);

/* Starts or continues the open sweep. Fails if none is open. */
bool sweep_job_continue(struct sweep_job *job, struct error *error);

/* Starts no more cells; the current one goes on. */
void sweep_job_stop(struct sweep_job *job);
/* Starts no more cells, and makes the current one finish its iteration, save and end. */
void sweep_job_stop_now(struct sweep_job *job);

/* Starts no more cells, and leaves the current one to its own process. */
void sweep_job_let_go(struct sweep_job *job);

/* Makes the current cell finish its iteration, save and end, and starts no other cell until
 * sweep_job_resume. Returns whether there is a current cell. */
bool sweep_job_pause(struct sweep_job *job);
/* Continues after sweep_job_pause: the cell that was current is resumed where it was saved. */
void sweep_job_resume(struct sweep_job *job);

/* Adds the times of the saved runs to the estimate, once. Returns whether it did so now. */
bool sweep_job_add_saved_times(struct sweep_job *job);

/* Reads the next cell's state and result. Returns whether there are more. */
bool sweep_job_read(struct sweep_job *job);

/* The changes that one call of sweep_job_step has made. */
struct sweep_job_news {
    bool cell_ended; /* the process of `cell` has ended, or could not be started */
    size_t cell;
    bool sweep_ended; /* no cell is left to start */
};

/* Reads the result of the current cell when it ends, and starts the next one, for which it holds
 * the list `runs`. */
struct sweep_job_news sweep_job_step(struct sweep_job *job, struct run_list *runs);

/* Returns whether sweep_job_step must be called: the sweep runs here or in another process. */
bool sweep_job_is_live(const struct sweep_job *job);

/* Returns how many cells are still to be run. */
size_t sweep_job_due(const struct sweep_job *job);

/* Writes how many cells there are in each state: "12 cells, 9 waiting, 3 done". Returns `text`. */
char *sweep_counts_text(const struct sweep *sweep, char *text, size_t size);

#endif
