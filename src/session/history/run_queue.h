/* run_queue.h: the runs that this machine computes in all processes of the user, and the queue of
 * those that wait for their end.
 *
 * A process that waits holds a place: a file in the folder queue beside the folder of runs, named
 * by a number and locked (flock), which says what waits (queued_run.h). The first place may start
 * once no run of this machine is alive. The process keeps the place until its run has locked its
 * folder, so that the next one sees that run. The system frees the locks of a process that ends, so
 * a killed one neither blocks the others nor loses their order. */
#ifndef TINCA_SESSION_HISTORY_RUN_QUEUE_H
#define TINCA_SESSION_HISTORY_RUN_QUEUE_H

#include "base/error.h"
#include "session/history/queued_run.h"
#include "session/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_queue_place {
    uint64_t number; /* 0: none */
    int descriptor;
};

/* A run that some process of this machine computes. */
struct live_run {
    char id[RUN_ID_SIZE];
    long process;    /* 0: unknown */
    size_t threads;  /* that compute */
    uint64_t memory; /* resident bytes of the process; 0: unknown */
};

enum { RUN_QUEUE_LIVE = 8 };

/* What the machine computes; `count` may be above RUN_QUEUE_LIVE. */
struct live_runs {
    struct live_run runs[RUN_QUEUE_LIVE];
    size_t count;
    size_t waiting; /* places in the queue */
};

/* Finds the live runs of this machine, without those of this process, and counts the places. */
void run_queue_look(struct live_runs *live);

/* Writes "1 other run uses 2 of 2 cores, 3 GiB", with the sums of all runs; "" if there is none.
 * Returns `text`. */
char *run_queue_text(const struct live_runs *live, char *text, size_t size);

/* Takes the last place of the queue for `run`. Returns false with an error. */
bool run_queue_join(struct run_queue_place *place, const struct queued_run *run,
                    struct error *error);

/* Lists what waits, first come first. The caller frees *list. It waits for no other process and
 * changes nothing. Returns false with an error. */
bool run_queue_list(struct queued_run **list, size_t *count, struct error *error);

/* Returns whether a process of this machine waits there. */
bool run_queue_is_here(const struct queued_run *run);

/* Returns whether this process may take the run out of the queue. If not, the error says who can:
 * it waits in a workbench, or on another machine. */
bool run_queue_may_stop(const struct queued_run *run, struct error *error);

/* Asks the process that waits to give its place up and end (SIGTERM). Returns false with an error.
 */
bool run_queue_stop(const struct queued_run *run, struct error *error);

/* Returns whether the place is the first one and no run is alive. If not, writes the ID of a live
 * run into `id` (RUN_ID_SIZE bytes); "": another place is before this one, and no run is alive.
 * Also returns false if the queue cannot be locked now, with an error; otherwise error->kind is
 * ERROR_NONE. */
bool run_queue_is_turn(const struct run_queue_place *place, char *id, struct error *error);

/* Gives the place up. A second call does nothing. */
void run_queue_leave(struct run_queue_place *place);

#endif
