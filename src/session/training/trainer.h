/* trainer.h: the state of a training in progress, and what its parts share. Internal to session/;
 * all of it belongs to the worker thread.
 *
 * worker.c calls the parts in turn: begin.h or resume_work.h starts the run, iteration.h computes,
 * run_commands.h does what the user asks, epoch.h validates, saving.h and model_save.h write files.
 */
#ifndef TINCA_SESSION_TRAINING_TRAINER_H
#define TINCA_SESSION_TRAINING_TRAINER_H

#include "engine/training/early_stopping.h"
#include "engine/training/loss_meter.h"
#include "engine/training/lr_schedule.h"
#include "engine/weights/safetensors.h"
#include "session/findings/overfitting.h"
#include "session/findings/watcher.h"
#include "session/measure/energy_meter.h"
#include "session/model/correct_images.h"
#include "session/prepare/inspector.h"
#include "session/prepare/prepare.h"
#include "session/ranks/ranks.h"
#include "session/ranks/ranks_work.h"
#include "session/record/run_state.h"
#include "session/tensorboard/run_events.h"
#include "session/values/pace.h"
#include "session/values/tempo.h"

/* The state of saving.c. */
struct saving {
    uint64_t tried;       /* clock_nanoseconds: the last attempt at a checkpoint */
    bool requested;       /* a checkpoint must be written as soon as possible */
    double cost;          /* seconds that the last checkpoint took; 0: none yet */
    struct error unsaved; /* why the disk refuses now; kind ERROR_NONE: it does not */
    struct error lost; /* the first loss: what could not be written and is not in memory either */
    bool reported;     /* the snapshot's error is the one above */
    float *best;       /* values of a best model that could not be written; else NULL */
};

/* A resumed run compares these counts, to notice that a data set has changed. */
struct data_counts {
    uint64_t per_epoch, images, validation_images;
};

/* The text of network.json and data.json until it is written (experiment.h); NULL: written. */
struct experiment_texts {
    char *network, *data;
    char *provenance; /* NULL also when a run is resumed */
};

struct trainer {
    struct run *run;
    struct preparation prepared;
    struct run_snapshot now; /* the worker's copy, which trainer_publish publishes */
    struct loss_meter meter;
    struct lr_schedule_settings schedule;
    struct lr_schedule_state lr_schedule_state;
    struct early_stopping_settings early_stopping;
    struct early_stopping_state early_stopping_state;
    struct tempo tempo;
    struct pace pace; /* of the iterations of this process */
    struct watcher watcher;
    struct lowest_losses lowest; /* a resumed run has none until its loss is the lowest again */
    struct inspector inspector;
    uint64_t inspected;                 /* the last iteration of the last inspection; 0: none */
    bool weights_inspected;             /* that inspection measured the weights */
    struct execution_batch batch;       /* of the last iteration; {0}: none */
    struct moment moment;               /* iterations and epochs done */
    double epoch_loss;                  /* sum over `epoch_iterations` */
    uint64_t epoch_iterations;          /* since the start of the epoch */
    uint64_t start_time, paused;        /* nanoseconds: clock at the start; length of all pauses */
    uint64_t iteration_start;           /* nanoseconds */
    struct ranks_record ranks;          /* what the ranks do */
    bool shares;                        /* the other ranks have prepared the run (ranks.h) */
    struct ranks_validation validation; /* how they divide its validations */
    bool in_flight;                     /* the device may still compute the last iteration */
    uint64_t measured_at;               /* nanoseconds: the last iteration_measure */
    double max_seconds;                 /* config_max_time */
    double validation_seconds;          /* spent on all validations */
    size_t validations;
    uint64_t sample_iteration; /* the iteration of the last samples */
    bool stop, stop_at_epoch;  /* the user has asked for it */
    bool epoch_end_due;        /* the run is or was within epoch_end, which must be repeated */
    bool ended;                /* by the learning-rate schedule or early stopping */
    bool recording_refused;    /* the finding FINDING_GRAPH has been added */
    size_t refusals_reported;  /* findings FINDING_CUDNN */
    bool sharing_reported;     /* a finding says that the ranks cannot share memory */
    bool skip_reported;        /* the finding FINDING_LOSS_SCALE has been added */
    bool low_scale_reported;   /* the same, of a scale below 1 */
    bool has_best;
    double best; /* score of the best model: larger is better */
    struct saving saving;
    struct correct_images correct; /* of the validations; a resumed run reads the earlier ones */
    bool correct_read;
    struct experiment_texts experiment;
    double earlier_seconds; /* that the run took in earlier processes */
    double earlier_wait;    /* seconds of these in which it waited for data */

    struct run_events events; /* for TensorBoard, with the setting of that name */

    struct energy_meter *energy; /* NULL: the energy is not measured, or not any more */
    uint64_t energy_iteration;   /* the first one that is not in now.energy_images */
    uint64_t energy_added;       /* nanoseconds: the last energy_step */

    /* written into a checkpoint, and read from one */
    uint64_t run_journal;
    struct method_counters counters;
    struct data_counts data_counts;
    double run_seconds;

    /* The kernels of validations, as a text (kernel_choices.h); and those that a checkpoint has
     * recorded, which a resumed run uses. */
    char *chosen;
    struct plan_choices recorded;

    struct safetensors checkpoint; /* the one to resume from, until it has been read */
    bool previous_checkpoint;      /* it is checkpoint.previous: the last one is unusable */
    uint64_t checked_at;           /* nanoseconds: the last check of the run's folder */
    bool folder_lost;     /* the folder belongs to another process: nothing is written there */
    bool journal_damaged; /* the run starts once more with its first iteration */
    struct error *error;  /* why the run fails */
};

/* Returns the seconds since the run's start, without pauses, at the time `now` (nanoseconds). */
double trainer_seconds(const struct trainer *trainer, uint64_t now);

/* Returns the execution of the network that is validated and saved. */
struct execution *trainer_execution(const struct trainer *trainer);

/* Begins the time of the next iteration now, after something else than iterations. Waits until the
 * device has done what was asked before. */
void trainer_restart_clock(struct trainer *trainer);

/* Returns the format of the models that the run saves. */
enum weights_format trainer_save_format(const struct trainer *trainer);

/* Publishes trainer->now to readers; the second function sets the status before. */
void trainer_publish(struct trainer *trainer);
void trainer_set_status(struct trainer *trainer, enum run_status status);

/* Adds a finding to the run and its journal. */
void trainer_add_finding(struct trainer *trainer, const struct finding *finding);

/* Returns whether the run's folder still belongs to this process. Checks it at most four times a
 * second, or at once if `now` is true. When it returns false, *error says why, nothing more may be
 * written to the folder, and the run fails. */
bool trainer_owns_folder(struct trainer *trainer, bool now);

/* Records that something could not be written and is lost; the first loss counts. */
void trainer_record_lost(struct trainer *trainer, const struct error *error);

/* Adds histograms of the weights to TensorBoard's event file, if there is one (run_events.h). */
void trainer_add_weights(struct trainer *trainer, bool last);

/* Adds a finding, once, if TensorBoard's event file ended before the run. `last`: nothing more will
 * be written, so whatever is missing is lost. */
void trainer_check_events(struct trainer *trainer, bool last);

/* Returns why a checkpoint, the best model or the journal cannot be written at present; kind
 * ERROR_NONE: they can. */
const struct error *trainer_find_refusal(const struct trainer *trainer);

/* Makes the snapshot's error agree with what cannot be written at present. */
void trainer_report_unsaved(struct trainer *trainer);

/* Publishes the result of an inspection if it is complete; if `last` is true, even if it has fewer
 * iterations than were asked for. */
void trainer_finish_inspection(struct trainer *trainer, bool last);

/* Publishes the error of an inspection; the run goes on. */
void trainer_report_inspection_error(struct trainer *trainer, const struct error *failed);

#endif
