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
    bool lost;     /* the job goes on without it; changed with the lock held */
    bool blocked;  /* an earlier message to it has not left yet (cluster_letters.c) */
    struct cluster_work work; /* that it has told; guarded by the lock */
    double waiting;           /* seconds that it has waited for others, as it has told */
};

/* What is known of the thread that trains (cluster_watch.c). */
struct cluster_watch {
    double limit;               /* seconds that it may do the same; 0: it is not watched */
    atomic_uint changes, polls; /* of its activity; calls of cluster_note_wait */
    atomic_int waits;           /* it waits in a collective or for sums */
    /* guarded by the cluster's lock */
    enum cluster_activity activity;
    uint64_t iteration, began; /* nanoseconds: when the iteration began */
    double longest;            /* seconds of an iteration of the run; 0: none is complete */
    /* of the cluster's thread */
    unsigned seen_changes, seen_polls;
    size_t seen_steps;    /* of sums */
    double busy, waiting; /* seconds without a change, not waiting; waiting for others */
    double computed;      /* seconds of the process's cores when `busy` began */
    bool hangs;           /* the failure of the cluster */
};

/* A letter that waits to be sent or taken. */
struct cluster_letter {
    struct cluster_letter *next;
    size_t rank, bytes;            /* of the other side; of the message */
    char message[CLUSTER_MESSAGE]; /* CLUSTER_IS_LETTER, then the letter */
};

struct cluster_letters {
    struct cluster_letter *first, *last;
};

enum { CLUSTER_IS_LETTER = 'l' }; /* the first byte of its message */

/* The sums that were started (cluster_sums.c). */
struct cluster_sums {
    struct cluster_sum *first, *last; /* guarded by the cluster's lock, as is `awaited` */
    bool awaited;                     /* nobody computes meanwhile */
    /* What the thread has started for the first one. */
    enum { SUM_QUEUED, SUM_SCATTERED, SUM_COLLECTED } step;
    size_t piece; /* that was scattered last */
    size_t steps; /* that it has taken so far */
};

enum { CLUSTER_SHARED_NAME = 31 }; /* macOS allows no longer ones */

/* The way in which the ranks exchange values (shared_memory.h). */
struct cluster_exchange {
    bool may_share;                    /* all ranks are on one host, and are to share memory */
    bool by_mpi;                       /* cluster_exchange_by_mpi */
    struct shared_collectives *shared; /* NULL: they do not share memory */
    char name[CLUSTER_SHARED_NAME];    /* of the memory that is being made */
    char failure[512];                 /* why they could not have it */
};

struct cluster {
    const struct cluster_module *module;
    struct cluster_place place;
    char (*hosts)[CLUSTER_HOST];
    struct cluster_peer *peers; /* the thread's */
    pthread_t thread;
    bool started; /* the thread has been started */
    bool stuck;   /* it cannot initialise or finalise MPI, and never ends */
    atomic_uint_fast64_t waited, gathers;
    struct cluster_exchange exchange; /* of the thread that communicates */
    struct cluster_watch watch;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    enum cluster_request request; /* what the thread is to do; CLUSTER_NOTHING: it is done */
    const void *from;
    void *to;
    size_t count;             /* bytes or values */
    struct cluster_work work; /* of this rank */
    bool begun;               /* MPI is initialised, or could not be */
    bool leaving;             /* cluster_leave has been called */
    bool ending;              /* nothing is left to do but finalising MPI */
    bool gone;                /* the thread has ended */
    bool failing;             /* this rank has failed: tell the others */
    bool failed;              /* `failure` is set; the thread calls MPI no more */
    bool remote;              /* another rank has told about it */
    struct error failure;
    struct cluster_sums sums;
    bool tolerant; /* cluster_tolerate_losses has been called */
    size_t lost;   /* how many ranks are lost */
    struct cluster_letters incoming, outgoing;
};

/* The thread of a cluster. */
void *cluster_thread_run(void *cluster);

/* Lets the thread take the next step of the sums, if one is due. Returns false with a reason. */
bool cluster_sums_advance(struct cluster *cluster, char *reason);

/* --- cluster_watch.c --- */

/* Reads the limit from the environment. */
void cluster_watch_begin(struct cluster_watch *watch);

/* Says that the thread that communicates begins to wait for other ranks, or has ended. */
void cluster_watch_wait(struct cluster *cluster, bool waits);

enum cluster_watched {
    CLUSTER_GOES_ON,
    CLUSTER_HANGS,       /* this rank */
    CLUSTER_STANDS_STILL /* all wait for each other */
};

/* Looks at the thread that trains, `seconds` after the last time. Returns what it finds, with an
 * error that says why unless it goes on. The cluster's thread calls it. */
enum cluster_watched cluster_watch_step(struct cluster *cluster, double seconds,
                                        struct error *error);

/* --- the cost of a sum --- */

/* Takes the sum of `count` values. Returns false after a failure. */
typedef bool cluster_cost_sum(void *context, size_t count);

/* Returns how many values are summed to measure the cost, of the `count` of a network. */
size_t cluster_cost_values(size_t count);

/* Measures sums of few and of `most` values (cluster_sums_measure). */
bool cluster_cost_measure(struct cluster *cluster, cluster_cost_sum *sum, void *context,
                          size_t most, struct cluster_cost *cost);

/* --- cluster_letters.c, called by the thread --- */

/* Sends the letters that can be sent now. */
void cluster_letters_send(struct cluster *cluster);

/* Returns whether letters wait to be sent. */
bool cluster_letters_wait(struct cluster *cluster);

/* Keeps a message that is a letter until it is taken. Returns false with an error if memory is
 * short. */
bool cluster_letters_receive(struct cluster *cluster, size_t rank, const char *message,
                             size_t bytes, struct error *error);

/* Frees all letters. */
void cluster_letters_free(struct cluster *cluster);

#endif
