/* devices_ranks.h: the processes that a launcher has started, as tinca devices lists them. */
#ifndef TINCA_CLI_DEVICES_RANKS_H
#define TINCA_CLI_DEVICES_RANKS_H

#include "base/host/host.h"
#include "base/json/json.h"
#include "engine/cluster/cluster.h"
#include "session/files/computed_with.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A process and the machine on which it runs. */
struct devices_rank {
    char host[CLUSTER_HOST], cpu[128];
    enum instruction_set set;                /* that its kernels use */
    uint64_t process, threads, memory_bytes; /* threads: that it computes with by default */
    struct computed_with with;
    /* Of an iteration of all ranks, milliseconds: in which it computes, and in which it waits for
     * the others. NaN: not measured. */
    double compute_ms, wait_ms;
};

/* The ranks in their order; count 0: this process is alone. */
struct devices_ranks {
    struct devices_rank *ranks;
    size_t count;
    char library[96];  /* MPI's */
    bool share;        /* they exchange values through memory that they share */
    char failure[512]; /* why they cannot, although they are on one host */
};

/* Gathers what all ranks say of themselves, and measures iterations of them. All of them call it.
 * Returns false with an error after a failure of the cluster. The caller frees the list with
 * devices_ranks_free. */
bool devices_ranks_gather(struct cluster *cluster, struct devices_ranks *ranks,
                          struct error *error);
void devices_ranks_free(struct devices_ranks *ranks);

/* Returns whether no rank before this one is on the same host. */
bool devices_ranks_is_first(const struct devices_ranks *ranks, size_t rank);

/* Adds the list to the document, unless it is empty. Returns false if out of memory. */
bool devices_ranks_add(struct json *root, const struct devices_ranks *ranks);

/* Prints the list, unless it is empty. Returns the exit status. */
int devices_ranks_print(const struct devices_ranks *ranks);

#endif
