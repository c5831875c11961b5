/* cluster_internal.h: what the files of a cluster share. Internal to engine/cluster. */
#ifndef TINCA_ENGINE_CLUSTER_CLUSTER_INTERNAL_H
#define TINCA_ENGINE_CLUSTER_CLUSTER_INTERNAL_H

#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"

#include <pthread.h>
#include <stdatomic.h>

enum cluster_request {
    CLUSTER_NOTHING,
    CLUSTER_GATHER,
    CLUSTER_BROADCAST,
    CLUSTER_SCATTER,
    CLUSTER_COLLECT,
    CLUSTER_ADD
};

/* What cluster_thread.c knows of another rank. */
struct cluster_peer {
    double silent; /* seconds since its last message, as far as this process was running */
    bool left;     /* it has said goodbye */
    struct cluster_work work; /* that it has told; guarded by the lock */
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
    size_t count;             /* bytes or values */
    struct cluster_work work; /* of this rank */
    bool begun;               /* MPI is initialised, or could not be */
    bool leaving;             /* cluster_close has been called */
    bool failing;             /* this rank has failed: tell the others */
    bool failed;              /* `failure` is set; the thread calls MPI no more */
    bool remote;              /* another rank has told about it */
    struct error failure;
};

/* The thread of a cluster. */
void *cluster_thread_run(void *cluster);

#endif
