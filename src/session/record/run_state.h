/* run_state.h: the members of struct run. Internal to session/.
 *
 * Only the worker writes. Readers see the snapshot (snapshot.h); facts and series, each published
 * once through an atomic pointer; the findings below an atomic count, which never change; and the
 * newest inspection, which the worker publishes and a reader takes by exchanging a pointer (the
 * worker frees an older one that was not taken). A run that was opened from its folder has no
 * worker and is complete when run_open returns. */
#ifndef TINCA_SESSION_RECORD_RUN_STATE_H
#define TINCA_SESSION_RECORD_RUN_STATE_H

#include "session/files/journal.h"
#include "session/files/run_hold.h"
#include "session/record/commands.h"
#include "session/record/run.h"
#include "session/record/snapshot.h"
#include "session/values/run_ranks.h"
#include "session/values/tempo.h"

#include <pthread.h>
#include <stdatomic.h>

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
    struct preparation *planned; /* the worker takes and frees it (prepare_plans); else NULL */
    bool compares;               /* first finds out whether one process would be as fast */
    bool resumes;                /* continues from the files in its folder */
    bool is_new;                 /* its folder goes if it is refused before it begins */
    bool made_folder;            /* the folder is as new as the run */
    bool changed;                /* config.json must be written once more */

    struct snapshot_cell snapshot;
    struct run_facts early_facts, prepared_facts;
    _Atomic(const struct run_facts *) facts; /* one of the two */
    struct series no_series, own_series;
    _Atomic(const struct series *) series; /* one of the two */
    struct finding findings[FINDINGS_MAX];
    atomic_size_t finding_count;
    _Atomic(struct inspection *) inspection_new; /* published, not taken yet */
    struct inspection *inspection;               /* the reader's */
    struct error notice;              /* see run_notice; run_resume and the worker write it before
                                         RUN_RUNNING */
    struct error damage;              /* see run_damage */
    struct error inspection_error;    /* why the saved inspection cannot be read */
    atomic_bool has_inspection_error; /* inspection_error is set, and does not change any more */
    pthread_mutex_t lock_ranks;       /* guards `ranks` */
    struct run_ranks ranks;           /* the processes that train it; none: one alone */
    atomic_size_t rank_count;         /* ranks.count */
    struct follower *follower;        /* follows another process's run; NULL: none */
    void (*follower_free)(struct follower *follower);

    struct command_box commands;
    atomic_uint flushes; /* COMMAND_FLUSH that were obeyed */
    bool has_worker;
    pthread_t worker;
    pthread_mutex_t lock_over; /* guards `over`, which only run_wait reads */
    pthread_cond_t became_over;
    bool over;
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
