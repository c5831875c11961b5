/* run_state.h: what a struct run holds. Internal to session/.
 *
 * One thread, the worker, writes; readers see: the snapshot (snapshot.h); facts and series, each
 * published once through an atomic pointer; findings below their atomic count, which never change;
 * a look inside the run, which changes hands: the worker puts it down (and takes back an older one
 * that nobody has taken), a reader takes it up, each with one exchange of a pointer.
 * A run that was opened from its directory has no worker and is complete when run_open returns. */
#ifndef TINCA_SESSION_RECORD_RUN_STATE_H
#define TINCA_SESSION_RECORD_RUN_STATE_H

#include "session/files/journal.h"
#include "session/files/run_hold.h"
#include "session/record/commands.h"
#include "session/record/run.h"
#include "session/record/snapshot.h"
#include "session/values/tempo.h"

#include <pthread.h>
#include <stdatomic.h>

struct follower;

struct run {
    atomic_size_t users; /* run_free counts them down */
    struct run_config config;
    char *directory, *save_path; /* save_path NULL: none */
    struct run_hold hold;        /* while it is on here */
    struct journal journal;      /* the worker's */
    bool resumes;                /* goes on with what its directory holds */
    bool changed;                /* config.json is to be written again */

    struct snapshot_cell snapshot;
    struct run_facts early_facts, prepared_facts;
    _Atomic(const struct run_facts *) facts; /* one of the two */
    struct series no_series, own_series;
    _Atomic(const struct series *) series; /* one of the two */
    struct finding findings[FINDINGS_MAX];
    atomic_size_t finding_count;
    _Atomic(struct inspection *) inspection_new; /* put down, not taken up yet */
    struct inspection *inspection;               /* the reader's */
    struct error notice;                         /* the worker's, until it is RUN_RUNNING */
    struct error damage;                         /* of a run that was over: what its journal has */
    struct error inspection_error;               /* why what is kept there cannot be read; */
    atomic_bool has_inspection_error;            /* it is there, and does not change any more */
    struct follower *follower;                   /* of another process's run; NULL: none */
    void (*follower_free)(struct follower *follower);

    struct command_box commands;
    bool has_worker;
    pthread_t worker;
    pthread_mutex_t lock_over; /* guards `over`, which only run_wait asks for */
    pthread_cond_t became_over;
    bool over;
};

/* A run without directory, worker or files; NULL when memory is out. */
struct run *run_state_create(const struct run_config *config, struct error *error);

/* Publishes what is known once a run is prepared; `series` must be created before. */
void run_state_publish(struct run *run, const struct run_facts *facts);

/* Appends a finding; false when there is no room for more. */
bool run_state_add_finding(struct run *run, const struct finding *finding);

/* Hands a look over to the readers. */
void run_state_put_inspection(struct run *run, struct inspection *inspection);

/* Reads the look inside a run that is over from its directory, if it has kept one, and hands it
 * over; or the reason why it cannot be read. */
void run_state_read_inspection(struct run *run);

#endif
