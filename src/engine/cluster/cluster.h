/* cluster.h: the processes, on one or several machines, that train one network or compute one sweep
 * together.
 *
 * A launcher (mpirun, srun) has started the same command several times. Each process is a rank:
 * rank 0 has the run, its files and the terminal; the others compute what it tells them
 * (training/ranks, studies/sweep). MPI moves the data; its module is opened at run time
 * (cluster_module.h). The thread that communicates starts a collective itself and tests it for a
 * moment; a thread of the cluster makes all other calls of MPI. It also tells the other ranks once
 * a second that this one lives, and notices when one of them has failed, or has been silent for
 * CLUSTER_SILENCE seconds, and whether the thread that trains hangs (cluster_set_activity).
 *
 * After a failure, every function that communicates returns false at once, and cluster_check says
 * what happened and on which rank. Arrays of a collective that has failed must stay allocated until
 * cluster_close. After cluster_tolerate_losses, only rank 0 and MPI itself can fail.
 *
 * Thread safety: one thread at a time may communicate; the others of these functions may be called
 * by any.
 */
#ifndef TINCA_ENGINE_CLUSTER_CLUSTER_H
#define TINCA_ENGINE_CLUSTER_CLUSTER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster;
struct cluster_module;
struct launch;

enum {
    CLUSTER_HOST = 64,
    CLUSTER_SILENCE = 10,
    CLUSTER_START = 60,
    CLUSTER_HANG = 60,
    CLUSTER_MAX_RANKS = 65536
};

/* Joins the processes that the launcher has started, and sets *cluster; NULL: this process is
 * alone. `ranks` is the number that the user gives for a launcher that is not recognised; 0: none
 * given. Returns false with an error if the launcher has started several processes, but MPI is
 * missing, knows another number of them, or has not started all within CLUSTER_START seconds (the
 * environment's TINCA_MPI_START); after a late start, the process can only end. */
bool cluster_join(size_t ranks, struct cluster **cluster, struct error *error);

/* Joins by a module that is already loaded. */
bool cluster_join_module(const struct cluster_module *module, const struct launch *launch,
                         struct cluster **cluster, struct error *error);

/* Opens the module at `path`. Returns NULL with an error. */
const struct cluster_module *cluster_load_module(const char *path, struct error *error);

/* Waits until all ranks leave, and finalises MPI; nothing communicates afterwards. Returns false
 * with an error if a rank falls silent meanwhile, or if MPI does not end within CLUSTER_SILENCE
 * seconds (half as many more on ranks other than 0, which rank 0 informs). Reports only new
 * failures. NULL is allowed. */
bool cluster_leave(struct cluster *cluster, struct error *error);

/* Leaves, if cluster_leave has not been called. After a failure, rank 0 ends all processes of the
 * job, including this one, with `status`; another rank waits for that. If MPI does not end, it
 * returns, but the process can only end, by _exit: MPI's thread goes on. NULL is allowed. */
void cluster_close(struct cluster *cluster, int status);

size_t cluster_rank(const struct cluster *cluster);  /* NULL: 0 */
size_t cluster_ranks(const struct cluster *cluster); /* NULL: 1 */
/* Return the number of this rank among those of its host, and the first rank of this host. */
size_t cluster_local_rank(const struct cluster *cluster);
size_t cluster_first_local(const struct cluster *cluster);
const char *cluster_library(const struct cluster *cluster); /* "Open MPI v4.1.4" */
const char *cluster_host(const struct cluster *cluster, size_t rank);

/* Returns whether the ranks can share memory (cluster_window_open): they are on one host, none has
 * TINCA_SHARED_MEMORY=0 in its environment, and MPI has not refused it. */
bool cluster_shares_memory(const struct cluster *cluster);
/* Returns why the ranks could not have the shared memory that they asked for; "": they had it, or
 * did not ask. */
const char *cluster_sharing_failure(const struct cluster *cluster);

/* The work of a rank in the current run. Times are nanoseconds. */
struct cluster_work {
    uint64_t process;    /* the ID of its process */
    uint64_t iterations; /* of this run, computed by this process */
    uint64_t computing;  /* time in all iterations, without the next two */
    uint64_t reading;    /* waiting for the data loader */
    uint64_t waiting;    /* waiting for sums and in cluster_gather */
};

/* Sets the work of this rank, which it sends to rank 0 once a second. */
void cluster_set_work(struct cluster *cluster, const struct cluster_work *work);

/* Copies the work that a rank has reported last; {0} if it has not reported any. Rank 0 knows the
 * work of all ranks, the others only their own. */
void cluster_work(struct cluster *cluster, size_t rank, struct cluster_work *work);

/* The activities of the thread that trains. */
enum cluster_activity {
    CLUSTER_IDLE, /* it waits for a command, is paused, or does unwatched work */
    CLUSTER_READING,
    CLUSTER_COMPUTING,
    CLUSTER_VALIDATING, /* to be set before each batch */
    CLUSTER_SAVING
};

/* Sets what this thread does from now on, in iteration number `iteration` (from 1; 0: that of the
 * previous call). It hangs, and all ranks fail with that reason, if it does the same for longer
 * than CLUSTER_HANG seconds (the environment's TINCA_HANG; 0: never) and 20 times the longest
 * iteration, without a wait for other ranks. In its first iteration, in a batch of a validation, or
 * while it saves, which may take ten times as long, it hangs only if its process does not compute.
 * NULL is allowed. Returns the previous activity. */
enum cluster_activity cluster_set_activity(struct cluster *cluster, enum cluster_activity activity,
                                           uint64_t iteration);

/* Makes this rank idle, and forgets how long iterations took: a run begins. NULL is allowed. */
void cluster_reset_activity(struct cluster *cluster);

/* Marks this rank as waiting for others, outside the functions of this header. Call it repeatedly
 * during the wait. */
void cluster_note_wait(struct cluster *cluster);

/* Collectives: all ranks call the same one. They return false after a failure. */
/* Sets all[0..ranks * bytes) to mine[0..bytes) of all ranks, in their order. */
bool cluster_gather(struct cluster *cluster, const void *mine, size_t bytes, void *all);
/* Returns whether all ranks are `good`; if one is not, all get its error, that of the first such
 * rank. NULL: returns `good`. */
bool cluster_agree(struct cluster *cluster, bool good, struct error *error);
/* Sets data[0..bytes) to that of rank 0. */
bool cluster_broadcast(struct cluster *cluster, void *data, size_t bytes);

/* Returns the nanoseconds that this process has waited in cluster_gather and for sums. */
uint64_t cluster_waited(const struct cluster *cluster);
/* Returns how often this process has called cluster_gather. */
uint64_t cluster_gathers(const struct cluster *cluster);

/* --- messages ---
 * The program's messages from one rank to another go beside the collectives. Rank 0 and each other
 * rank may send messages to each other. Those between two ranks arrive in the order in which they
 * were sent. */
enum { CLUSTER_PAYLOAD = 1399 }; /* the most bytes of a message */

/* Queues a message to a rank; one to a lost rank is dropped. Returns false with an error if memory
 * is short or something has failed. */
bool cluster_post(struct cluster *cluster, size_t rank, const void *message, size_t bytes,
                  struct error *error);

/* Waits for a message, for at most `seconds`. Returns its length, and its sender in *rank; 0: none
 * has come. A message that is longer than `size` is cut. */
size_t cluster_take(struct cluster *cluster, double seconds, size_t *rank, void *message,
                    size_t size);

/* Lets the job survive the loss of ranks other than 0: from now on a rank that fails or is silent
 * counts as lost. All ranks call it, and use no collective afterwards. When ranks were lost,
 * cluster_close on rank 0 ends the whole job. */
void cluster_tolerate_losses(struct cluster *cluster);

/* Returns whether a rank is lost. Only rank 0 knows. */
bool cluster_is_lost(struct cluster *cluster, size_t rank);

/* Tells all ranks that this one cannot continue, and why. Nobody can communicate afterwards. */
void cluster_fail(struct cluster *cluster, const struct error *error);

/* Returns whether another rank has reported a failure. */
bool cluster_failed_elsewhere(struct cluster *cluster);

/* Returns true if nothing has failed, otherwise false with the error. */
bool cluster_check(struct cluster *cluster, struct error *error);

#endif
