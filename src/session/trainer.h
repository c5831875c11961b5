/* trainer.h: the state of a training in progress, shared by worker.c (the run's life), trainer.c
 * (an iteration) and epoch.c (what happens after one). Internal to session/; all of it belongs to
 * the worker thread. */
#ifndef TINCA_SESSION_TRAINER_H
#define TINCA_SESSION_TRAINER_H

#include "engine/loss_meter.h"
#include "engine/schedule.h"
#include "session/inspector.h"
#include "session/prepare.h"
#include "session/run_state.h"
#include "session/tempo.h"
#include "session/watcher.h"

struct trainer {
    struct run *run;
    struct preparation prepared;
    struct run_snapshot now; /* the worker's own, published as it changes */
    struct loss_meter meter;
    struct schedule_settings schedule;
    struct schedule_state schedule_state;
    struct tempo tempo;
    struct watcher watcher;
    struct inspector inspector;
    struct moment moment;      /* iterations and epochs done */
    double epoch_loss;         /* sum over `epoch_iterations` */
    uint64_t epoch_iterations; /* since the epoch began */
    uint64_t began, paused;    /* nanoseconds: clock at the start; pauses in all */
    uint64_t mark;             /* when this iteration began */
    uint64_t looked;           /* when memory and feed were last looked at */
    double validation_seconds; /* in all */
    size_t validations;
    uint64_t sampled;         /* the iteration of the last samples */
    bool stop, stop_at_epoch; /* asked for */
    bool ended;               /* the schedule says that the run is over */
    bool has_best;
    double best; /* what the best model reached: larger is better */
    struct error *error;
};

/* Reads feed_next, trains on it and records what came out. False: the run fails, *error is set. */
bool trainer_iterate(struct trainer *trainer, bool *epoch_over);

/* After an iteration's last batch of an epoch: validation, schedule. */
bool trainer_end_epoch(struct trainer *trainer);

/* Validates now, outside an epoch's end. */
bool trainer_validate(struct trainer *trainer);

/* Does what the user asked for; waits here while paused. False: saving or the journal failed. */
bool trainer_obey(struct trainer *trainer);

/* Saves the model as it is now into `name` of the run directory. */
bool trainer_save(struct trainer *trainer, const char *name);

/* Writes sample-EPOCH.png into the run directory, where the network makes images. */
bool trainer_save_samples(struct trainer *trainer);

/* Looks at memory and feed, and reports what is amiss. */
bool trainer_look_around(struct trainer *trainer);

/* Publishes what a look inside the run has seen, once it is complete; `last`: whatever it has. */
void trainer_end_look(struct trainer *trainer, bool last);

/* Shared by all: records a finding, publishes the snapshot, time since the start without pauses. */
bool trainer_find(struct trainer *trainer, const struct finding *finding);
void trainer_publish(struct trainer *trainer);
double trainer_seconds(const struct trainer *trainer, uint64_t now);

#endif
