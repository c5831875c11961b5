/* sweep_over.h: tinca sweep --over mpi: the processes that a launcher (mpirun, srun) has started,
 * the ranks, compute one sweep together.
 *
 * All ranks call sweep_over_join. On rank 0 it returns true; rank 0 then makes the sweep as the
 * command does alone, and sweep_over_run gives its cells to the ranks. The other ranks serve it
 * within sweep_over_join, and print nothing but their own errors.
 *
 * Functions that return int return the exit status and have printed their error. */
#ifndef TINCA_CLI_SWEEP_OVER_H
#define TINCA_CLI_SWEEP_OVER_H

#include "cli/sweep_request.h"
#include "engine/cluster/cluster.h"
#include "studies/sweep/sweep.h"
#include "studies/sweep/sweep_estimate.h"
#include "studies/sweep/sweep_rank.h"

#include <stdbool.h>
#include <stddef.h>

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
