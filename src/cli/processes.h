/* processes.h: a command that a launcher has started in several processes (engine/cluster). */
#ifndef TINCA_CLI_PROCESSES_H
#define TINCA_CLI_PROCESSES_H

#include "cli/options.h"
#include "engine/cluster/cluster.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

/* Joins the other processes, if there are any, and sets *cluster (NULL: there are none). `ranks` is
 * the value of --ranks. Returns false with the exit status if that fails; the error is printed. All
 * ranks go on. */
bool processes_meet(size_t ranks, struct cluster **cluster, int *status);

/* Does the same, and `config` is what the command line says. On a rank other than 0 it computes for
 * rank 0 until that quits. Returns whether this process is to do the command's work;
 * otherwise *status is the exit status. */
bool processes_join(size_t ranks, const struct run_config *config, struct cluster **cluster,
                    int *status);

/* Returns whether a command that does not share its work may go on: no launcher has started it
 * several times. Otherwise one of the processes prints why not; *status is the exit status. */
bool processes_alone(const char *command, int *status);

/* Prints an error of this rank, which all of them may have; unless it came from another rank, which
 * prints it. Returns the exit status. */
int processes_print_failure(struct cluster *cluster, const struct error *error);

/* Tells the others to quit, and leaves. Returns `status`. After a failure it ends all processes. */
int processes_leave(struct cluster *cluster, int status);

/* Leaves, and prints why if that fails. After a failure it ends all processes; if MPI does not end,
 * this one with `status`, which the launcher answers by ending the others. NULL is allowed. */
void processes_close(struct cluster *cluster, int status);

/* Prints the error of a rank other than 0, with its number and host. Returns the exit status. */
int processes_print_error(size_t rank, const struct error *error);

/* Prints, before the first iteration, what --reduce and --compress mean for the run's bits. */
void processes_announce(const struct cluster *cluster, const struct run_config *config);

/* Returns the row of --ranks. */
struct option_row processes_row(size_t *ranks);

#endif
