/* trainer.h: the state of a training in progress, shared by worker.c (the run's life), trainer.c
 * (an iteration), epoch.c (what happens after one) and keep.c (what is written to survive).
 * Internal to session/; all of it belongs to the worker thread. */
#ifndef TINCA_SESSION_RUN_TRAINER_H
#define TINCA_SESSION_RUN_TRAINER_H

#include "engine/training/loss_meter.h"
#include "engine/training/lr_schedule.h"
#include "engine/weights/safetensors.h"
#include "session/findings/watcher.h"
#include "session/record/run_state.h"
#include "session/run/inspector.h"
#include "session/run/prepare.h"
#include "session/values/tempo.h"

/* What keep.c remembers of saving. */
struct keeping {
    uint64_t tried;       /* clock_nanoseconds: the last attempt at a checkpoint */
    bool wanted;          /* one is to be written as soon as possible */
    double cost;          /* seconds that the last one took; 0: none yet */
    struct error unsaved; /* what cannot be written now; kind ERROR_NONE: nothing */
    struct error lost;    /* what could not be written and is gone: the first of it */
    bool told;            /* the snapshot's error is about this */
    float *best;          /* values of a best model that could not be written; else NULL */
};

/* By which it is noticed that the data set has changed since. */
struct makings {
    uint64_t per_epoch, images, validation_images;
};

/* network.json and data.json until the disk takes them (experiment.h); NULL: written. */
struct experiment_texts {
    char *network, *data;
};

struct trainer {
    struct run *run;
    struct preparation prepared;
    struct run_snapshot now; /* the worker's own, published as it changes */
    struct loss_meter meter;
    struct lr_schedule_settings schedule;
    struct lr_schedule_state lr_schedule_state;
    struct tempo tempo;
    struct watcher watcher;
    struct inspector inspector;
    struct moment moment;      /* iterations and epochs done */
    double epoch_loss;         /* sum over `epoch_iterations` */
    uint64_t epoch_iterations; /* since the epoch began */
    uint64_t began, paused;    /* nanoseconds: clock at the start; pauses in all */
    uint64_t mark;             /* when this iteration began */
    uint64_t looked;           /* when memory and loader were last looked at */
    double validation_seconds; /* in all */
    size_t validations;
    uint64_t sampled;         /* the iteration of the last samples */
    bool stop, stop_at_epoch; /* asked for */
    bool epoch_end_due;       /* stopped within what follows an epoch: it is to be done again */
    bool ended;               /* the schedule says that the run is over */
    bool has_best;
    double best; /* what the best model reached: larger is better */
    struct keeping keeping;
    struct experiment_texts experiment;
    double before; /* seconds that the run took in earlier processes */
    double fed;    /* of these, spent waiting for data */
    /* filled for a checkpoint, and read from one */
    uint64_t run_journal, solver_step, discriminator_step;
    struct makings makings;
    double seconds_kept;
    struct safetensors checkpoint; /* from which the run goes on, until it does */
    bool previous_checkpoint;      /* it is the one before the last: the last is of no use */
    uint64_t held;                 /* when the run's folder was last looked at */
    bool evicted;                  /* the folder is no longer the run's: nothing is written there */
    bool journal_damaged;          /* the run begins again with its first iteration */
    struct error *error;
};

/* Reads data_loader_next, trains on it and records what came out. False: the run fails, *error is
 * set. */
bool trainer_iterate(struct trainer *trainer, bool *epoch_over);

/* After an iteration's last batch of an epoch: validation, schedule. */
bool trainer_end_epoch(struct trainer *trainer);

/* Validates now, outside an epoch's end. */
bool trainer_validate(struct trainer *trainer);

/* Does what the user asked for; waits here while paused. */
void trainer_obey(struct trainer *trainer);

/* Saves the model as it is now, and the discriminator, into the run directory. */
bool trainer_save(struct trainer *trainer, struct error *error);

/* Writes sample-EPOCH.png into the run directory, where the network makes images. What cannot be
 * written is noted as lost. */
void trainer_save_samples(struct trainer *trainer);

/* Looks at memory and loader, and reports what is amiss. */
void trainer_look_around(struct trainer *trainer);

/* In resume_work.c: finds the checkpoint and the iteration from which a resumed run goes on; then,
 * when all is prepared, fills the trainer and the curves from it. Up to the end of the latter no
 * file of the run is changed. False: the run cannot go on, and stays as it was. */
bool resume_look(struct trainer *trainer, uint64_t *iteration);
bool resume_begin(struct trainer *trainer);
/* In worker.c: begins from the first iteration; describes what was prepared. */
bool worker_begin(struct trainer *trainer);
struct run_facts worker_describe(const struct trainer *trainer);

/* In worker.c: looks, at most four times a second or `now`, whether the run's folder is still its
 * own. From the moment that it is not nothing is written there: it may be another process's by now.
 * Returns false then, and *error says why; the run fails. */
bool trainer_holds(struct trainer *trainer, bool now);

/* In keep.c: what is kept, when, and what becomes of it when the disk refuses. */

/* To be called between two iterations: writes a checkpoint when one is due. */
void trainer_keep(struct trainer *trainer, bool epoch_over);
/* Writes one now; false: keeping.unsaved says why not. */
bool trainer_checkpoint(struct trainer *trainer);
/* Saves the model as it is now as best.safetensors, or holds it in memory until that works. */
void trainer_keep_best(struct trainer *trainer);
/* Tries to write what waits in memory; what then still does is lost. Returns whether the journal is
 * on the disk. */
bool trainer_keep_last(struct trainer *trainer);
/* Notes what is gone; the first counts. */
void trainer_lose(struct trainer *trainer, const struct error *error);
/* Brings the snapshot's error in line with what cannot be written now. */
void trainer_tell(struct trainer *trainer);

/* Publishes what a look inside the run has seen, once it is complete; `last`: whatever it has. */
void trainer_end_look(struct trainer *trainer, bool last);

/* Shared by all: records a finding, publishes the snapshot, time since the start without pauses. */
void trainer_find(struct trainer *trainer, const struct finding *finding);
void trainer_publish(struct trainer *trainer);
double trainer_seconds(const struct trainer *trainer, uint64_t now);

#endif
