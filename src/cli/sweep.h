/* sweep.h: the parts of tinca sweep. */
#ifndef TINCA_CLI_SWEEP_H
#define TINCA_CLI_SWEEP_H

#include "cli/options.h"
#include "engine/cluster/cluster.h"
#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_rank.h"

#include <stdbool.h>
#include <stddef.h>

/* --- sweep_request.c --- */

/* The request of a command line of tinca sweep, and the sweep made from it. */

enum sweep_format { SWEEP_FORMAT_TEXT, SWEEP_FORMAT_MARKDOWN };

/* All texts belong to the command line; NULL: the option was not given. */
struct sweep_request {
    struct run_config config; /* the configuration that all cells share, as given by options */
    const char *file;         /* FILE.json, the operand */
    const char *networks, *techniques, *batches, *devices; /* lists, as given */
    const char *grid;                                      /* a study's grid: overfit, cifar */
    const char *name;                                      /* --name */
    struct option_list tags;                               /* --tag TAG */
    const char *note;                                      /* --note */
    const char *cell;                                      /* compute only this cell */
    struct option_list vary;                               /* --vary KEY=LIST */
    struct option_list after;                              /* --after LIST */
    size_t after_epochs;                                   /* --after-epochs; 0: not given */
    const char *csv, *target;                              /* --csv DIR, --output FILE */
    size_t jobs;                                           /* runs at the same time, from 1 */
    size_t cores;     /* to be divided among the jobs; 0: all cores of the machine */
    size_t format;    /* enum sweep_format */
    const char *over; /* --over: "mpi" */
    size_t ranks;     /* --ranks; 0: not given */
    bool dry_run, report, due, as_json, retry, quiet, list, wait;
};

/* Makes the sweep that `request` describes, or opens the earlier sweep that it names. False with an
 * error when a file or an option is wrong. Free the sweep with sweep_free, also after an error. */
bool sweep_request_open(const struct sweep_request *request, struct sweep *sweep,
                        struct error *error);

/* Returns whether the request names an earlier sweep and describes no grid. */
bool sweep_request_is_earlier(const struct sweep_request *request);

/* Returns the number of threads for one run: `asked` unless that is 0, otherwise an equal share of
 * the cores when several jobs run or --cores was given. 0: the run decides. */
size_t sweep_request_threads(const struct sweep_request *request, size_t asked);

/* --- sweep_output.c --- */

/* These functions print and write the results of tinca sweep. Those that return int return the exit
 * status and have printed their error. */

/* Writes the CSV files, and then the JSON document, the list of cells (--dry-run) or the tables of
 * results, whichever the request asks for. */
int sweep_output_report(const struct sweep *sweep, const struct sweep_estimate *estimate,
                        const struct sweep_request *request);

/* Prints the numbers of the cells that are still to compute, as sbatch --array takes them:
 * "1,3-6,9". Prints nothing when none are. */
int sweep_output_due(const struct sweep *sweep);

/* Returns whether this machine or another may still compute the cell: a cell that does not fit the
 * memory here, or whose device is missing here, may run elsewhere. */
bool sweep_output_is_open(const struct sweep *sweep, size_t index);

/* Prints a table of all sweeps with the number of their cells in each state. */
int sweep_output_list(void);

/* Prints on standard error why each failed cell failed. */
void sweep_output_failures(const struct sweep *sweep);

/* --- sweep_progress.c --- */

/* Prints the progress of a sweep on standard error: a line for each cell that has ended, and the
 * cells that run, as a live line on a terminal, otherwise every few seconds. */

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

/* --- sweep_jobs.c --- */

/* Computes the cells of a sweep.
 *
 * A cell is one configuration of the grid. Each cell is computed by a separate process, this
 * program with --cell (sweep_process.h). This process starts them and reports how they ended. Call
 * these functions from one thread. */

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

/* --- sweep_over.c, sweep_over_lead.c --- */

/* Tinca sweep --over mpi: the processes that a launcher (mpirun, srun) has started,
 * the ranks, compute one sweep together.
 *
 * All ranks call sweep_over_join. On rank 0 it returns true; rank 0 then makes the sweep as the
 * command does alone, and sweep_over_run gives its cells to the ranks. The other ranks serve it
 * within sweep_over_join, and print nothing but their own errors.
 *
 * Functions that return int return the exit status and have printed their error. */

struct sweep_over {          /* starts as {0} */
    bool active;             /* --over was given */
    bool called;             /* rank 0 has told the others what to compute */
    struct cluster *cluster; /* NULL: this is the only rank */
};

/* Joins the other ranks if the request says --over. Without it, and with several processes, the
 * request is refused. Divides cores and memory of this host among its ranks, by setting the jobs
 * and cores of the request. Returns whether this process is to do the command's work; otherwise
 * *status is the exit status. */
bool sweep_over_join(struct sweep_over *over, struct sweep_request *request, int *status);

/* On rank 0: computes the cells of a saved sweep that remain, on all ranks, the largest first. */
int sweep_over_run(struct sweep_over *over, struct sweep *sweep, struct sweep_estimate *estimate,
                   const struct sweep_request *request);

/* On rank 0: lets the others end, and leaves. Does nothing without --over. Returns `status`. */
int sweep_over_leave(struct sweep_over *over, int status);

/* --- between the files of sweep_over --- */

/* Gathers the answers of all ranks to a call. Returns whether all are ready; otherwise `error` says
 * which is not, and why. `*unlocked` is a rank that does not see the locks of rank 0; 0: all do. */
bool sweep_over_agree(struct cluster *cluster, const struct sweep_answer *mine, size_t *unlocked,
                      struct error *error);

#endif
