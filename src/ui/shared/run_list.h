/* run_list.h: lists of runs. The list of this session holds the runs that it starts: one trains at
 * a time, the others wait. A second list holds the saved runs, of earlier sessions or of other
 * processes, which are only read. */
#ifndef TINCA_UI_SHARED_RUN_LIST_H
#define TINCA_UI_SHARED_RUN_LIST_H

#include "runs/folder/run_name.h"
#include "runs/history/queue_background.h"
#include "runs/history/run_owner.h"
#include "runs/history/run_queue.h"
#include "studies/compare/run_reader.h"
#include "training/run_start.h"

#include <stdbool.h>
#include <stddef.h>

/* The place of a run in the queue of all processes (run_queue.h). */
struct run_entry_queue {
    /* runs of this session */
    bool joins;                   /* it takes a place there before it starts */
    struct run_queue_place place; /* number 0: none, or not yet */
    char waits_for[RUN_ID_SIZE];  /* the other process's run that it waits for, as last read; "":
                                     none, or it waits for a process before it in the queue */

    /* runs that wait in another process */
    size_t rank; /* the place, from 1; 0: it does not wait there */
    bool stops;  /* that process may be asked to give the place up */
};

struct run_entry {
    struct run_config config;
    struct run_options options;
    struct run *run;         /* NULL: waiting, refused, or saved and its curves are not read */
    bool refused;            /* it could not be started, or (saved) not be read; see `error` */
    bool deletion_candidate; /* a dialog asks whether to delete this run or its weights */
    bool announced; /* another process trained it at the start; counts until its outline is read */
    bool marked;    /* for a comparison, an export or deletion */
    char name[RUN_NAME_SIZE]; /* given by the user; "": none, or not read yet */
    char tags[RUN_TAGS_SIZE], note[RUN_NOTE_SIZE]; /* likewise */
    char network[256];                             /* what it is called; see run_entry_network */
    size_t parameters;                             /* of a saved run; 0: unknown */
    bool pause_asked; /* the user paused it; the snapshot shows that later */
    struct error error;
    struct run_snapshot snapshot; /* as of the last run_list_step */
    struct run_entry_queue queue;
    uint64_t serial;              /* tells the runs of this session apart */
    char resumed_directory[512];  /* the directory of the run that it continues; "": a new run */
    bool models[RUN_SAVED_KINDS]; /* which models are on disk, as last read (run_reader.h) */
    uint64_t disk_bytes;          /* of its folder, as last read; 0: unknown */
    char imported[16]; /* the framework whose log it was imported from; "": none, or not read */

    /* saved runs only */
    char directory[512];    /* "": the run belongs to this session */
    bool outline_known;     /* config and snapshot have been read */
    bool outdated;          /* they must be read again */
    bool live;              /* another process runs it */
    bool followed;          /* its journal is read as it grows (other_runs.h) */
    struct run_owner owner; /* the process of a live run, as last read */
    bool reopen_due;        /* another process has resumed it, so `run` must be opened again */
};

struct run_list { /* starts as {0} */
    struct run_entry *entries;
    size_t count, capacity;
    struct cluster *cluster; /* borrowed: the processes that train its runs; NULL: this one alone */
    bool held;        /* something else computes, a cell of the sweep: no waiting run is started */
    bool leaving;     /* the runs are left to background processes: no waiting run is started */
    uint64_t serials; /* runs added so far */
    struct queue_join *joining;  /* takes a place in the queue; NULL: nobody does */
    uint64_t joining_for;        /* the serial of the run that it is for */
    struct live_search *looking; /* reads the queue of all processes; NULL: nobody does */
    uint64_t looking_for;        /* the number of the place whose turn it finds out */
    uint64_t next_look;          /* clock_nanoseconds: when the queue is read again */
};

/* --- the runs of this session --- */

/* Adds a run at the end; `options` NULL: the defaults. It starts by run_list_step once no other run
 * is active. Returns false with an error if out of memory. */
bool run_list_add(struct run_list *list, const struct run_config *config,
                  const struct run_options *options, struct error *error);

/* Adds a run that continues the run in `directory` (runs/record/resume.h). Returns false with an
 * error if out of memory. */
bool run_list_resume(struct run_list *list, const struct run_config *config, const char *directory,
                     struct error *error);

/* Makes the last run wait for the runs of other processes (run_queue.h). run_list_step takes its
 * place in the queue; the run is refused if there is none. */
void run_list_wait_for_others(struct run_list *list);

/* Copies the snapshots of all runs, and starts the next waiting run if none is active. Returns the
 * index of a run that has ended since the last step, or list->count. */
size_t run_list_step(struct run_list *list);

/* Returns the active run, or NULL. */
struct run_entry *run_list_active(const struct run_list *list);

/* Returns whether a run would compute beside another one: a run is active, or the list is held. */
bool run_list_is_busy(const struct run_list *list);

/* Returns how many runs wait. */
size_t run_list_waiting(const struct run_list *list);

/* Removes a waiting run. Returns false if it is not waiting. */
bool run_list_remove(struct run_list *list, size_t index);

/* Frees a run that is not active and removes it from the list; its files stay. */
void run_list_drop(struct run_list *list, size_t index);

/* Removes the waiting runs and sends `command` (one that stops) to the active run. */
void run_list_stop(struct run_list *list, enum run_command command);

/* Waits for the active run to end, frees everything and leaves `*list` {0}. */
void run_list_free(struct run_list *list);

/* --- one entry --- */

/* Returns whether the run waits to be started. */
bool run_entry_is_waiting(const struct run_entry *entry);

/* Returns whether this session has started the run and it has not ended. */
bool run_entry_is_active(const struct run_entry *entry);

/* Returns why a new run of this session was refused before it began, so that it has no folder;
 * NULL: it was not. */
const struct error *run_entry_refusal(const struct run_entry *entry);

/* Returns whether the entry is a saved run, as opposed to one of this session. */
bool run_entry_is_saved(const struct run_entry *entry);

/* Returns the untranslated status: "waiting", "running", ... */
const char *run_entry_status(const struct run_entry *entry);

/* Writes the translated status; of a run that waits for one of another process "waits for RUN", of
 * one that waits in another process "waiting, place 2". Returns `text`. */
char *run_entry_status_text(const struct run_entry *entry, char *text, size_t size);

/* Returns what the run's network is called: "resnet20-dsc". */
const char *run_entry_network(const struct run_entry *entry);

/* Returns the run's directory, or NULL if it has none yet. */
const char *run_entry_directory(const struct run_entry *entry);

/* The kinds of actions on a run. An action is offered in the states in which it does something. */
enum run_offer {
    RUN_WATCH,
    RUN_CONTROL, /* pause, save, change the learning rate */
    RUN_STOP,
    RUN_RESUME,
    RUN_LABEL, /* give it a name, tags, a note */
    RUN_MARK,
    RUN_CLONE, /* copy its settings */
    RUN_REMOVE,
    RUN_PRUNE,
    RUN_WEIGHTS, /* try or fork them */
    RUN_COMPARE,
    RUN_EXPORT
};

/* Returns whether that does something in the run's present state. `entry` NULL: no run is selected.
 */
bool run_offers(const struct run_entry *entry, enum run_offer offer);

/* Returns whether the run can be resumed here; the error (NULL: not wanted) says why not. A run
 * that another process computes cannot, without an error. */
bool run_offers_resume(const struct run_entry *entry, struct error *error);

/* --- saved runs --- */

/* Adds the runs `ids` (sorted) of the folder `home`, without those that are in the list already or
 * belong to this session. Reads nothing of them. Marks runs that had not ended when they were last
 * read as outdated. Returns false with an error if out of memory. */
bool run_list_add_saved_ids(struct run_list *saved, const struct run_list *session,
                            const char *home, char *const *ids, size_t count, struct error *error);

/* Adds the run in `directory`. Returns false with an error if out of memory or if the path is too
 * long. */
bool run_list_add_saved(struct run_list *saved, const char *directory, struct error *error);

/* Copies into a saved run what a reader has read. If the reader has read the curves, the entry
 * takes ownership of them (read->run becomes NULL) and frees those it had. */
void run_entry_update(struct run_entry *entry, struct run_read *read);

/* Frees the curves of a saved run. */
void run_entry_unload_curves(struct run_entry *entry);

#endif
