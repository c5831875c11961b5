/* run.h: one training of one configuration, in a worker thread of its own.
 *
 * The worker publishes a snapshot under a sequence counter: a reader copies it without a lock and
 * without ever making the worker wait. Commands go the other way through one small queue. The run
 * directory (run_directory.h) holds everything a view shows, so that a finished run, opened again,
 * is the same `struct run` without a worker.
 */
#ifndef TINCA_SESSION_RUN_H
#define TINCA_SESSION_RUN_H

#include "base/error.h"
#include "engine/plan/plan.h"
#include "session/config.h"
#include "session/finding.h"
#include "session/inspection.h"
#include "session/run_id.h"
#include "session/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum run_status {
    RUN_PREPARING, /* opening data, drawing weights */
    RUN_RUNNING,
    RUN_PAUSED,
    RUN_VALIDATING,
    RUN_DONE,
    RUN_STOPPED, /* by the user; saved */
    RUN_FAILED,
    RUN_REFUSED,     /* would not have worked: nothing was started */
    RUN_INTERRUPTED, /* its process is gone without a word */
};

const char *run_status_name(enum run_status status);
bool run_status_is_over(enum run_status status);

struct run_snapshot {
    enum run_status status;
    uint64_t iteration, iterations; /* done, of */
    double epoch, epochs;           /* done (fraction), of */
    float loss, loss_caffe;
    double loss_mean;
    float loss_discriminator, loss_l1; /* NaN: there is no discriminator */
    double learning_rate;
    double ms_per_image_now, ms_per_image_median, images_per_second;
    double elapsed_seconds, eta_seconds; /* eta < 0: not known */
    double feed_wait_seconds;            /* the trainer waited for data, in all */
    uint64_t memory_measured;            /* resident bytes of the process; 0: not measured */
    uint64_t memory_highest;             /* the same, at its highest since the run began */
    bool has_validation;
    double validation_loss, top1, top5, best_top1; /* percent */
    double pixel_accuracy;                         /* percent; NaN: the network tells classes */
    uint64_t validation_done, validation_of;       /* images, while validating */
    uint64_t begun_at;             /* the iteration from which it was resumed; 0: from the start */
    uint64_t checkpoints;          /* written so far */
    uint64_t checkpoint_iteration; /* of the last one; 0: none yet */
    double checkpoint_seconds;     /* spent on them, in all */
    size_t finding_count;
    /* When failed or refused: why. While it runs: what cannot be kept now (a full disk) and is
     * tried again, or a save or look on command that failed. When done or stopped: what was lost.
     */
    struct error error;
};

enum run_command {
    COMMAND_PAUSE,
    COMMAND_GO_ON,
    COMMAND_STOP,          /* after this iteration, save */
    COMMAND_STOP_AT_EPOCH, /* after this epoch, save */
    COMMAND_SAVE,          /* model and checkpoint now */
    COMMAND_LEARNING_RATE, /* value: the rate from the next iteration on */
    COMMAND_INSPECT,       /* look inside the next iterations: run_inspection has it later */
};

struct run;

/* Facts that never change once the run is prepared (status beyond RUN_PREPARING); before that, what
 * the forecast knew. Ask run_facts again after a change of status: the address may change. */
struct run_facts {
    char id[RUN_ID_SIZE];
    char created[24];  /* RFC 3339 */
    char host[128];    /* the machine it ran on; "": not known */
    char imported[16]; /* the framework whose log it was taken from; "": it ran here */
    bool mean_only;    /* imported: loss is Caffe's mean, the losses themselves are not known */
    char directory[512];
    char network[64]; /* with its suffixes, as the studies print it: "resnet20-dsc-0.36" */
    char technique[16];
    size_t parameters;
    size_t discriminator_parameters; /* 0: there is none */
    uint64_t flops;
    size_t images, validation_images, classes;
    struct memory_forecast forecast;
    uint64_t memory_peak; /* the process at its highest, as forecast before the run; 0: not known */
    size_t threads;
};

struct run_options {
    const char *run_directory; /* NULL: a new one below the state home */
    /* --save: the weights at the end (with the preset cifar and validation: the best ones). NULL:
     * only the run directory's weights.safetensors and, with validation, best.safetensors. */
    const char *save_path;
};

/* Makes the run directory and starts the worker, which opens the data and prepares the rest; what
 * is wrong with the configuration and can be known at once is refused here (NULL). */
struct run *run_start(const struct run_config *config, const struct run_options *options,
                      struct error *error);

/* Goes on with a run that is not complete (resume.h), in its own directory. `changes`: settings
 * that were asked for and may change; NULL: none. NULL when it is complete, cannot be changed so,
 * or when another process has it. The options' run_directory is not used. */
struct run *run_resume(const char *directory, const struct run_config *changes,
                       const struct run_options *options, struct error *error);

/* A run from its directory, finished or interrupted: only to be looked at. One that another process
 * has stays as it was found; follow.h goes along with it. */
struct run *run_open(const char *directory, struct error *error);

/* What a kept run's config.json and summary.json tell, without its journal: the end of the run, no
 * curves. `facts` hold what the configuration knows (no parameters). */
struct run_outline {
    struct run_config config;
    struct run_facts facts;
    struct run_snapshot snapshot;
};
bool run_peek(const char *directory, struct run_outline *outline, struct error *error);

/* Waits for the worker (after asking it to stop, when it is not over) and frees. May be NULL. */
void run_free(struct run *run);

/* Returns the run, which is freed by the last run_free of all who share it: one thread may read on
 * (follow.h) what another shows. */
struct run *run_share(struct run *run);

const struct run_config *run_config(const struct run *run);
const struct run_facts *run_facts(const struct run *run);
/* What a resumed run met before its first iteration and went on from all the same (a damaged
 * checkpoint or journal, another instruction set); kind ERROR_NONE: nothing. To be asked for when
 * the run is no longer RUN_PREPARING. */
const struct error *run_notice(const struct run *run);
/* What is wrong with the journal of a run that run_open has read and that is over; kind ERROR_NONE:
 * nothing. A finding of the kind "journal" says the same. */
const struct error *run_damage(const struct run *run);
void run_snapshot(const struct run *run, struct run_snapshot *snapshot);
/* Empty until the run is prepared; ask again each time, the address may change once. */
const struct series *run_series(const struct run *run);
/* Copies finding `index` (< snapshot.finding_count). */
void run_finding(const struct run *run, size_t index, struct finding *finding);

/* The newest look inside the run, or of one that is over the look that its directory has kept; NULL
 * with error->kind ERROR_NONE: nobody has looked yet. Never waits, and never makes the worker wait.
 * Belongs to the run and lives until the next call; to be called by one thread at a time. */
const struct inspection *run_inspection(struct run *run, struct error *error);

/* False for a run without a worker (run_open). Never blocks and is never full; of two contrary
 * commands the later one counts. Async-signal-safe. */
bool run_send(struct run *run, enum run_command command, double value);

/* Blocks until the run is over or `seconds` have passed (negative: without limit); true when over.
 */
bool run_wait(struct run *run, double seconds);

#endif
