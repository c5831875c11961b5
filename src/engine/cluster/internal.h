/* internal.h: the state that the files of a cluster share. Internal to engine/cluster. */
#ifndef TINCA_ENGINE_CLUSTER_INTERNAL_H
#define TINCA_ENGINE_CLUSTER_INTERNAL_H

#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"
#include "engine/cluster/cluster_sums.h"

#include <pthread.h>
#include <stdatomic.h>

enum cluster_request {
    CLUSTER_NOTHING,
    CLUSTER_GATHER,
    CLUSTER_BROADCAST,
    CLUSTER_BARRIER,
    CLUSTER_SHARE /* a window: `number`, and `count` bytes of each rank; it is complete at once */
};

/* A collective that the thread that communicates asks for. */
struct cluster_collective {
    enum cluster_request request;
    const void *from;
    void *to;
    size_t count, number;
    bool started; /* the requesting thread has started it; it only needs to be tested */
};

/* The state of another rank, as cluster_thread.c has learned it from messages. */
struct cluster_peer {
    double silent; /* seconds since its last message, as far as this process was running */
    bool left;     /* it has said goodbye */
    bool lost;     /* the job goes on without it; changed with the lock held */
    bool blocked;  /* an earlier message to it has not left yet (cluster_messages.c) */
    struct cluster_work work; /* its last report; guarded by the lock */
    double waiting;           /* seconds that it has waited for others, by its last report */
};

/* The activity of the thread that trains, from which cluster_watch.c sees whether it hangs. */
struct cluster_watch {
    double limit; /* seconds without progress that are allowed; 0: it is not watched */
    atomic_uint changes,
        polls;        /* counts of changed activities, and of calls of cluster_note_wait */
    atomic_int waits; /* how many waits in a collective or for sums are going on */
    /* guarded by the cluster's lock */
    enum cluster_activity activity;
    uint64_t iteration, began; /* nanoseconds: when the iteration began */
    double longest;            /* seconds of an iteration of the run; 0: none is complete */
    /* used only by the cluster's thread */
    unsigned seen_changes, seen_polls;
    size_t seen_steps;    /* steps of sums */
    double busy, waiting; /* seconds without progress: computing; waiting for others */
    double computed;      /* seconds of the process's cores when `busy` began */
    bool hangs;           /* the failure of the cluster */
};

/* A message of the program that waits to be sent or taken. */
struct cluster_message {
    struct cluster_message *next;
    size_t rank, bytes;         /* the other side's rank; the length of the text */
    char text[CLUSTER_MESSAGE]; /* CLUSTER_IS_PAYLOAD, then the program's bytes */
};

struct cluster_message_queue {
    struct cluster_message *first, *last;
};

enum { CLUSTER_IS_PAYLOAD = 'p' }; /* the first byte of its text */

/* The sums that were started (cluster_sums.c). */
struct cluster_sums {
    struct cluster_sum *first, *last; /* guarded by the cluster's lock, as is `awaited` */
    bool awaited; /* a thread waits for the sums and does not compute meanwhile */
    /* The MPI operation that the thread has started last for the first sum. */
    enum { SUM_QUEUED, SUM_SCATTERED, SUM_COLLECTED } step;
    size_t subtree; /* the subtree that was scattered last */
    size_t steps;   /* steps of sums so far */
};

/* Memory that the ranks share (cluster_windows.c). */
struct cluster_window {
    struct cluster *cluster;
    size_t bytes; /* of each rank; 0: there is no memory yet */
    bool used;
    void **segments; /* by rank */
};

/* The windows, which all ranks open and close in the same order. */
struct cluster_sharing {
    bool allowed; /* all ranks are on one host, and are to share memory */
    struct cluster_window windows[CLUSTER_WINDOWS];
    char failure[512]; /* why they could not have a window */
};

struct cluster {
    const struct cluster_module *module;
    struct cluster_place place;
    char (*hosts)[CLUSTER_HOST];
    struct cluster_peer *peers; /* used only by the cluster's thread */
    pthread_t thread;
    bool started; /* the thread has been started */
    bool stuck;   /* it cannot initialise or finalise MPI, and never ends */
    atomic_uint_fast64_t waited, gathers;
    struct cluster_sharing sharing; /* used only by the thread that communicates */
    struct cluster_watch watch;

    pthread_mutex_t calls; /* held while MPI is called; taken before `lock` */
    pthread_mutex_t lock;  /* guards the members below */
    pthread_cond_t changed;
    struct cluster_collective asked; /* the request to the thread; CLUSTER_NOTHING: it is done */
    struct cluster_work work;        /* of this rank */
    bool begun;                      /* MPI is initialised, or could not be */
    bool leaving;                    /* cluster_leave has been called */
    bool ending;                     /* nothing is left to do but finalising MPI */
    bool gone;                       /* the thread has ended */
    bool failing;                    /* this rank has failed: tell the others */
    bool failed;                     /* `failure` is set; the thread calls MPI no more */
    bool remote;                     /* another rank has reported the failure */
    struct error failure;
    struct cluster_sums sums;
    bool tolerant; /* cluster_tolerate_losses has been called */
    size_t lost;   /* how many ranks are lost */
    struct cluster_message_queue incoming, outgoing;
};

/* --- cluster_thread.c --- */

void *cluster_thread_run(void *cluster);

/* Starts a collective. Returns false with a reason. The caller holds `calls`. */
bool cluster_collective_start(struct cluster *cluster, const struct cluster_collective *what,
                              char *reason);
/* Fails because MPI has returned an error, with its reason. */
void cluster_collective_fail(struct cluster *cluster, const char *reason);

/* --- cluster_collectives.c --- */

/* Runs a collective and waits for it. Returns false after a failure. */
bool cluster_collective_run(struct cluster *cluster, const struct cluster_collective *what);

/* --- cluster_sums.c --- */

/* Lets the thread take the next step of the sums, if one is due. Returns false with a reason. */
bool cluster_sums_advance(struct cluster *cluster, char *reason);

/* --- cluster_windows.c --- */

/* Frees the table of windows; MPI frees their memory when it ends. */
void cluster_windows_free(struct cluster *cluster);

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

/* Checks the training thread, `seconds` after the last check. Returns its state, with an error that
 * says why unless it makes progress. The cluster's thread calls it. */
enum cluster_watched cluster_watch_step(struct cluster *cluster, double seconds,
                                        struct error *error);

/* --- cluster_messages.c, called by the thread --- */

/* Sends the messages that can be sent now. */
void cluster_messages_send(struct cluster *cluster);

/* Returns whether messages wait to be sent. */
bool cluster_messages_wait(struct cluster *cluster);

/* Keeps a message of the program until it is taken. Returns false with an error if memory is short.
 */
bool cluster_messages_receive(struct cluster *cluster, size_t rank, const char *message,
                              size_t bytes, struct error *error);

/* Frees all messages. */
void cluster_messages_free(struct cluster *cluster);

#endif
