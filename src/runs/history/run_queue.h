/* run_queue.h: the runs that this machine computes in all processes of the user, and the queue of
 * those that wait for their end.
 *
 * A process that waits holds a place: a file in the folder queue beside the folder of runs, named
 * by a number and locked (flock), which says what waits (struct queued_run). The first place may
 * start once no run of this machine is alive. The process keeps the place until its run has locked
 * its folder, so that the next one sees that run. The system frees the locks of a process that
 * ends, so a killed one neither blocks the others nor loses their order. */
#ifndef TINCA_RUNS_HISTORY_RUN_QUEUE_H
#define TINCA_RUNS_HISTORY_RUN_QUEUE_H

#include "base/error.h"
#include "runs/settings/config.h"
#include "runs/values/run_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- what waits at a place --- */

/* It is the content of the place's file, so that every process can list what waits. */
enum queued_kind {
    QUEUED_TRAIN,  /* a new run */
    QUEUED_RESUME, /* the run of `directory` */
    QUEUED_SWEEP   /* the next cell of a sweep */
};

struct queued_run {
    uint64_t place; /* the number of its place; 0: none */
    bool known;     /* false: its file cannot be read, and nothing but `place` is valid */
    enum queued_kind kind;
    bool in_workbench;        /* a workbench waits, which computes and shows other runs as well */
    long process;             /* that waits */
    char host[128];           /* its machine */
    char since[24];           /* RFC 3339 */
    char directory[512];      /* of the run that is resumed; "": a new run */
    char sweep[64];           /* the sweep's name; "": it is no cell of a sweep */
    struct run_config config; /* of the run that begins */
};

/* Returns the word of the file and of `tinca runs --json`: "train", "resume" or "sweep". */
const char *queued_kind_name(enum queued_kind kind);

/* Returns a new run with this configuration that waits. The paths in it become absolute, if that is
 * possible. */
struct queued_run queued_run_new(const struct run_config *config);

/* Returns a run that waits to be resumed. `changes` NULL: its settings stay. Returns one that is
 * not known if its configuration cannot be read. */
struct queued_run queued_run_resumed(const char *directory, const struct run_config *changes);

/* --- places and live runs --- */

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

/* The runs that the machine computes; `count` may be above RUN_QUEUE_LIVE. */
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
