/* cluster_module.h: the interface of the module that is linked with MPI (cluster_mpi.c).
 *
 * The module is a shared object, tinca-mpi.so, which the program opens when a launcher has started
 * it as one of several processes; so the program itself needs no MPI. One thread calls all
 * functions, or several threads of which only one calls at a time, if place.any_thread allows that.
 * A collective is started and then tested until it is complete; one at a time. All ranks start the
 * same collectives in the same order. Those of sums (scatter, collect, add) are started and tested
 * independently of the others.
 */
#ifndef TINCA_ENGINE_CLUSTER_CLUSTER_MODULE_H
#define TINCA_ENGINE_CLUSTER_CLUSTER_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLUSTER_MODULE_ABI = 5, CLUSTER_REASON = 256, CLUSTER_LIBRARY = 96, CLUSTER_WINDOWS = 4 };

#define CLUSTER_MODULE_FILE     "tinca-mpi.so"
#define CLUSTER_MODULE_FUNCTION "tinca_cluster_module"

/* The place of a process among the ranks, as MPI says. */
struct cluster_place {
    size_t rank, ranks;
    size_t local_rank;  /* its number among the ranks of its host */
    size_t first_local; /* the first rank of its host */
    bool any_thread;    /* threads other than the one that called `begin` may call, too */
    char library[CLUSTER_LIBRARY]; /* "Open MPI v4.1.4" */
};

struct cluster_module {
    uint32_t abi, bytes; /* CLUSTER_MODULE_ABI, sizeof(struct cluster_module) */
    const char *version; /* of tinca */
    bool needs_pmi;      /* MPI ends a process of srun that has neither PMIx nor PMI */

    /* Initialises MPI. Returns false with a reason, of CLUSTER_REASON bytes. */
    bool (*begin)(struct cluster_place *place, char *reason);
    void (*end)(void);           /* finalises it; all ranks must call it */
    void (*end_all)(int status); /* ends all processes of the job at once */

    /* Start a collective; return false with a reason. */
    /* Sets all[0..ranks * bytes) to mine[0..bytes) of all ranks, in their order. */
    bool (*gather)(const void *mine, size_t bytes, void *all, char *reason);
    /* Sets data[0..bytes) to that of rank 0. */
    bool (*broadcast)(void *data, size_t bytes, char *reason);
    /* Waits for all ranks; when it is complete, each rank sees everything that the others wrote to
     * their windows before it. */
    bool (*barrier)(char *reason);
    /* Tests the collective that was started. Returns false with a reason if it has failed. */
    bool (*test)(bool *complete, char *reason);

    /* Replaces the window `number` by memory that all ranks share, with `bytes` for each: sets
     * segments[0..ranks) to their addresses. All ranks call it, and wait for each other. Returns
     * false with a reason. With 0 bytes, releases a window that another rank could not allocate. */
    bool (*share)(size_t number, size_t bytes, void **segments, char *reason);

    /* Start a collective of sums; return false with a reason. A value has `bytes` bytes, 2 or 4. */
    /* Divides values into shards, one for each rank; shard r is [r count / ranks, (r + 1) count /
     * ranks). Sets shards[] to this rank's shard of the values of each rank, in their order. */
    bool (*scatter)(const void *values, size_t count, size_t bytes, void *shards, char *reason);
    /* Gathers all shards of the values, of which each rank has its own. */
    bool (*collect)(void *values, size_t count, size_t bytes, char *reason);
    /* Sets values[] to the sum of the values of all ranks, in an order that MPI chooses. */
    bool (*add)(float *values, size_t count, char *reason);
    bool (*test_sum)(bool *complete, char *reason);

    /* Sends a message to a rank without waiting for it; does nothing if an earlier one to this rank
     * has not left yet, and returns false. At most CLUSTER_MESSAGE bytes. */
    bool (*send)(size_t rank, const void *message, size_t bytes);
    /* Receives a message, if one has come. Returns its length, 0 if none has. */
    size_t (*receive)(size_t *rank, void *message, size_t size);
};

enum { CLUSTER_MESSAGE = 1400 };

/* Returns how many values the shards of ranks before `rank` have. */
static inline size_t cluster_shard_begin(size_t count, size_t ranks, size_t rank)
{
    return count / ranks * rank + count % ranks * rank / ranks;
}

typedef const struct cluster_module *cluster_module_function(void);

#endif
