/* cluster_internal.h: what the files of a cluster share. Internal to engine/cluster. */
#ifndef TINCA_ENGINE_CLUSTER_CLUSTER_INTERNAL_H
#define TINCA_ENGINE_CLUSTER_CLUSTER_INTERNAL_H

#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"
#include "engine/cluster/cluster_sums.h"

#include <pthread.h>
#include <stdatomic.h>

enum cluster_request { CLUSTER_NOTHING, CLUSTER_GATHER, CLUSTER_BROADCAST };

/* What cluster_thread.c knows of another rank. */
struct cluster_peer {
    double silent; /* seconds since its last message, as far as this process was running */
    bool left;     /* it has said goodbye */
};

/* The sums that were started (cluster_sums.c). */
struct cluster_sums {
    struct cluster_sum *first, *last; /* guarded by the cluster's lock, as is `awaited` */
    bool awaited;                     /* nobody computes meanwhile */
    /* What the thread has started for the first one. */
    enum { SUM_QUEUED, SUM_SCATTERED, SUM_COLLECTED } step;
    size_t steps; /* that it has taken so far */
};

struct cluster {
    const struct cluster_module *module;
    struct cluster_place place;
    char (*hosts)[CLUSTER_HOST];
    struct cluster_peer *peers; /* the thread's */
    pthread_t thread;
    bool started; /* the thread has been started */
    atomic_uint_fast64_t waited;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    enum cluster_request request; /* what the thread is to do; CLUSTER_NOTHING: it is done */
    const void *from;
    void *to;
    size_t count; /* bytes or values */
    bool begun;   /* MPI is initialised, or could not be */
    bool leaving; /* cluster_close has been called */
    bool failing; /* this rank has failed: tell the others */
    bool failed;  /* `failure` is set; the thread calls MPI no more */
    bool remote;  /* another rank has told about it */
    struct error failure;
    struct cluster_sums sums;
};

/* The thread of a cluster. */
void *cluster_thread_run(void *cluster);

/* Lets the thread take the next step of the sums, if one is due. Returns false with a reason. */
bool cluster_sums_advance(struct cluster *cluster, char *reason);

#endif
