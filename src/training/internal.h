/* internal.h: the state of a training in progress, and the functions that the files of this folder
 * share. All of it belongs to the worker thread.
 *
 * worker.c is the life of a run: it prepares, begins or resumes (resume_work.c) the run, trains
 * (loop.c), and ends it. Observers (observer.h), whose state is private to them, do everything else
 * that happens with an iteration, an epoch or the end of a run. */
#ifndef TINCA_TRAINING_INTERNAL_H
#define TINCA_TRAINING_INTERNAL_H

#include "engine/training/loss_meter.h"
#include "engine/training/lr_schedule.h"
#include "engine/weights/safetensors.h"
#include "runs/findings/watcher.h"
#include "runs/record/run_state.h"
#include "runs/settings/settings.h"
#include "runs/values/pace.h"
#include "training/prepare/prepare.h"
#include "training/ranks/ranks.h"
#include "training/ranks/ranks_work.h"

/* Times in nanoseconds (clock_nanoseconds). */
struct run_clock {
    uint64_t start, paused;    /* the first iteration of this process; the length of all pauses */
    uint64_t iteration;        /* start of the present iteration */
    double earlier_seconds;    /* time that the run took in earlier processes */
    bool in_flight;            /* the device may still compute the last iteration */
    uint64_t checked;          /* time of the last check of the run's folder */
    double validation_seconds; /* spent on all validations */
};

/* The epoch in progress. */
struct epoch_progress {
    double loss; /* sum over `iterations` */
    uint64_t iterations;
    bool end_due; /* the run is or was within the end of an epoch, which must be repeated */
};

/* The data that cannot be written. */
struct refusals {
    struct error unsaved;   /* why writing fails now; kind ERROR_NONE: it does not */
    struct error tolerated; /* why writing a file that nothing else depends on fails now */
    struct error
        lost;      /* the first loss: data that could not be written and is no longer in memory */
    bool reported; /* the snapshot's error is one of the first two */
};

/* A resumed run compares these counts, to notice that a data set has changed. */
struct data_counts {
    uint64_t per_epoch, images, validation_images;
};

/* The state of the run as a whole in a checkpoint, and the state that a resumed run finds. */
struct resumption {
    struct safetensors file;     /* the checkpoint to resume from, until it has been read */
    bool previous;               /* it is checkpoint.previous: the last one is unusable */
    bool known;                  /* network.json and data.json have been compared */
    bool journal_damaged;        /* the run starts once more with its first iteration */
    struct journal_mark journal; /* its end at that time */
    struct data_counts data;
    double seconds; /* time that the run had taken */
    struct method_counters counters;
    struct plan_choices choices; /* its kernels of validations, which a resumed run uses */
};

/* The settings of the run, by class. */
struct trainer_settings {
    struct network_settings network;
    struct data_settings data;
    struct training_settings training;
    struct measurement_settings measurement;
    struct machine_settings machine;
    struct record_settings record;
};

struct observer;

struct trainer {
    struct run *run;
    struct trainer_settings settings;
    struct preparation prepared;
    struct run_snapshot now; /* the worker's copy, which trainer_publish publishes */
    struct lr_schedule_settings schedule;
    struct lr_schedule_state lr_schedule_state;
    struct loss_meter meter;
    struct tempo tempo;
    struct pace pace;             /* of the iterations of this process */
    struct execution_batch batch; /* of the last iteration; {0}: none */
    struct moment moment;         /* iterations and epochs done */
    struct epoch_progress epoch;
    size_t validations;
    struct run_clock clock;
    bool stop, stop_at_epoch; /* the user has requested it */
    bool ended;               /* by the learning-rate schedule or early stopping */
    bool folder_lost;         /* it belongs to another process: nothing is written there */
    bool shares;              /* the other ranks have prepared the run (ranks.h) */
    struct ranks_validation validation; /* how they divide its validations */
    struct ranks_meter work;            /* times of this rank's work */
    struct refusals refusals;
    char *chosen; /* the kernels of validations, as a text (computed_with.h) */
    struct resumption resumption;
    const struct observer *const *observers; /* NULL ends them */
    void **states;                           /* of the observers; NULL: there are none yet */
    struct error *error;                     /* why the run fails */
};

/* --- trainer.c: functions for all parts of a run --- */

/* Returns the settings of a configuration, which must outlive them. */
struct trainer_settings trainer_settings(const struct run_config *config);

/* Returns the seconds since the run's start, without pauses, at the time `now` (nanoseconds). */
double trainer_seconds(const struct trainer *trainer, uint64_t now);

/* Returns the execution of the network that is validated and saved. */
struct execution *trainer_execution(const struct trainer *trainer);

/* Restarts the time of the next iteration, after work other than iterations. Waits until the device
 * is idle. */
void trainer_restart_clock(struct trainer *trainer);

/* Returns the learning rate of the next iteration. */
double trainer_rate(const struct trainer *trainer);

/* Returns whether no iteration will follow, unless the user stops the run before. */
bool trainer_is_over(const struct trainer *trainer);

/* Publishes trainer->now to readers; the second function sets the status before. */
void trainer_publish(struct trainer *trainer);
void trainer_set_status(struct trainer *trainer, enum run_status status);

/* Adds a finding to the run and its journal. */
void trainer_add_finding(struct trainer *trainer, const struct finding *finding);

/* Adds a finding of the present iteration with this text, printed as by printf. */
void trainer_note(struct trainer *trainer, enum finding_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether the run's folder still belongs to this process. Checks it at most four times a
 * second, or at once if `now` is true. When it returns false, trainer->error says why, nothing more
 * may be written to the folder, and the run fails. */
bool trainer_owns_folder(struct trainer *trainer, bool now);

/* Records that something could not be written and is lost; the first loss counts. */
void trainer_record_lost(struct trainer *trainer, const struct error *error);

/* Returns why a checkpoint, the best model or the journal cannot be written at present; kind
 * ERROR_NONE: they can. */
const struct error *trainer_find_refusal(const struct trainer *trainer);

/* Sets the snapshot's error to the present failure to write, if any. */
void trainer_report_unsaved(struct trainer *trainer);

/* --- resume_work.c: how a resumed run starts --- */

/* Finds the checkpoint to resume from, its kernels, and its iteration; 0 if there is none. Returns
 * false with *trainer->error if the run cannot continue. Changes no file. */
bool resume_find_checkpoint(struct trainer *trainer, uint64_t *iteration);

/* Restores a prepared trainer and the curves from the checkpoint and the journal; without a
 * checkpoint, makes the run ready to begin again. Returns false with *trainer->error if the run
 * cannot continue; its files are unchanged then. */
bool resume_restore(struct trainer *trainer);

/* Adds findings about changes since the restored checkpoint, and closes it. */
void resume_report(struct trainer *trainer);

/* --- experiment.c: whether a resumed run trains the same network on the same data --- */

/* Puts the texts of network.json and data.json into the observer's state. Reads the data set's
 * files for their checksums. Returns false with *trainer->error. */
bool experiment_make(struct trainer *trainer);

/* Compares the prepared network and data with both files. Returns false if they differ;
 * *trainer->error names the difference. If a file is missing, as in runs of older versions, *known
 * becomes false. Changes no file. */
bool experiment_check(struct trainer *trainer, bool *known);

/* --- worker.c: the life of a run --- */

/* Runs the worker thread; its argument is a struct run. Returns NULL. */
void *worker_main(void *run);

/* --- loop.c: iterations, validations and epochs --- */

/* Trains until the run is over or stopped. Returns false with *trainer->error if it fails. */
bool loop_train(struct trainer *trainer);

/* Computes the last batch once more, to measure it; the weights continue to change. Returns false
 * if the loss is not finite or the device has failed. */
bool loop_repeat_step(struct trainer *trainer);

/* Shows the progress of a validation and obeys commands; an evaluator_progress of the trainer. */
bool loop_show_progress(void *context, uint64_t done, struct error *error);

#endif
