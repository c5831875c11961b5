/* run_state.h: the members of struct run.
 *
 * Only the worker writes. Readers see the snapshot; facts and series, each published
 * once through an atomic pointer; the findings below an atomic count, which never change; and the
 * newest inspection, which the worker publishes and a reader takes by exchanging a pointer (the
 * worker frees an older one that was not taken). A run that was opened from its folder has no
 * worker and is complete when run_open returns. */
#ifndef TINCA_RUNS_RECORD_RUN_STATE_H
#define TINCA_RUNS_RECORD_RUN_STATE_H

#include "base/threads/wake.h"
#include "runs/folder/journal.h"
#include "runs/folder/run_directory.h"
#include "runs/record/run.h"
#include "runs/values/pace.h"
#include "runs/values/run_ranks.h"

#include <pthread.h>
#include <stdatomic.h>

/* --- the queue of commands from the user to the worker --- */

struct command_box {
    atomic_uint pending; /* one bit per command */
    _Atomic uint64_t rate_bits;
    struct wake wake;
};

struct commands {
    unsigned set; /* one bit per command */
    double learning_rate;
};

/* Creates an empty queue. Returns false with an error. */
bool commands_create(struct command_box *box, struct error *error);
void commands_free(struct command_box *box);

/* Sends a command; `value` is the rate of COMMAND_LEARNING_RATE. Any thread and any signal handler
 * may call it. */
void commands_send(struct command_box *box, enum run_command command, double value);

/* Returns the pending commands and clears them; only the worker calls it. */
struct commands commands_take(struct command_box *box);
/* Waits until a command is pending; only the worker calls it. */
void commands_wait(struct command_box *box);

/* Returns whether the command is among those taken. */
static inline bool commands_have(const struct commands *commands, enum run_command command)
{
    return commands->set >> command & 1;
}

/* --- the snapshot, written by one thread and copied by any number of others --- */

enum { SNAPSHOT_WORDS = (sizeof(struct run_snapshot) + sizeof(uint64_t) - 1) / sizeof(uint64_t) };

struct snapshot_cell {
    atomic_uint sequence; /* odd while it is being written */
    _Atomic uint64_t words[SNAPSHOT_WORDS];
};

/* Publishes a snapshot. Only one thread may call it; it never waits. */
void snapshot_publish(struct snapshot_cell *cell, const struct run_snapshot *snapshot);

/* Copies the snapshot, once more if the writer changed it meanwhile. Any thread may call it. */
void snapshot_read(const struct snapshot_cell *cell, struct run_snapshot *snapshot);

/* --- the run --- */

struct cluster;
struct follower;
struct preparation;

struct run {
    atomic_size_t users; /* run_free counts them down */
    struct run_config config;
    char *directory, *save_path; /* save_path NULL: none */
    struct run_hold hold;        /* while this process trains it */
    struct journal journal;      /* the worker's */
    struct cluster *cluster;     /* borrowed: the processes that train it; NULL: this one alone */
    struct {                     /* what the worker begins with */
        struct preparation *planned; /* it takes and frees it (prepare_plans); else NULL */
        bool compares;               /* it first finds out whether one process would be as fast */
        bool resumes;                /* it continues from the files in the run's folder */
        bool is_new;                 /* the folder goes if the run is refused before it begins */
        bool made_folder;            /* the folder is as new as the run */
    } start;
    bool changed; /* config.json must be written once more */

    struct snapshot_cell snapshot;
    struct run_facts early_facts, prepared_facts;
    _Atomic(const struct run_facts *) facts; /* one of the two */
    struct series no_series, own_series;
    struct scalars scalars;                /* of a run that was opened */
    _Atomic(const struct series *) series; /* one of the two */
    struct finding findings[FINDINGS_MAX];
    atomic_size_t finding_count;
    struct {
        _Atomic(struct inspection *) published; /* not taken yet */
        struct inspection *taken;               /* the reader's */
        struct error error;                     /* why the saved one cannot be read */
        atomic_bool has_error;                  /* `error` is set, and does not change any more */
    } inspections;
    struct error notice;        /* see run_notice; run_resume and the worker write it before
                                   RUN_RUNNING */
    struct error damage;        /* see run_damage */
    pthread_mutex_t lock_ranks; /* guards `ranks` */
    struct run_ranks ranks;     /* the processes that train it; none: one alone */
    atomic_size_t rank_count;   /* ranks.count */
    struct follower *follower;  /* follows another process's run; NULL: none */
    void (*follower_free)(struct follower *follower);

    struct command_box commands;
    atomic_uint flushes; /* COMMAND_FLUSH that were obeyed */
    struct {
        bool started;
        pthread_t worker;
        pthread_mutex_t lock; /* guards `over`, which only run_wait reads */
        pthread_cond_t became_over;
        bool over;
    } thread;
};

/* Returns a run without folder, worker or files; NULL with an error if out of memory.
 */
struct run *run_state_create(const struct run_config *config, struct error *error);

/* Publishes the facts of a prepared run and its series, which must have been created. */
void run_state_publish(struct run *run, const struct run_facts *facts);

/* Appends a finding. Returns false if there are FINDINGS_MAX already. */
bool run_state_add_finding(struct run *run, const struct finding *finding);

/* Publishes an inspection, which the run then owns. */
void run_state_put_inspection(struct run *run, struct inspection *inspection);

/* Replaces the figures of the ranks by a copy. A reader may just be copying the old ones, which
 * takes microseconds. */
void run_state_put_ranks(struct run *run, const struct run_ranks *ranks);

/* Reads the saved inspection of a finished run, if there is one, and publishes it, or the reason
 * why it cannot be read. */
void run_state_read_inspection(struct run *run);

#endif
