/* run_snapshot.h: the present state of a run, as plain values that readers copy; what ended it, and
 * what its results mean. */
#ifndef TINCA_RUNS_VALUES_RUN_SNAPSHOT_H
#define TINCA_RUNS_VALUES_RUN_SNAPSHOT_H

#include "base/error.h"
#include "runs/figures.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENERGY_REASON_SIZE = 320 };

/* The energy of a shorter time is not known: the counters of processors change about once in a
 * millisecond, those of GPUs once in 20 to 100 ms. */
#define ENERGY_LEAST_SECONDS     0.05
#define ENERGY_LEAST_GPU_SECONDS 0.5

/* The energy that was used between two moments. */
struct energy {
    bool known;
    double joules, seconds;
    char why_unknown[ENERGY_REASON_SIZE]; /* if it is not known */
};

enum run_status {
    RUN_PREPARING, /* opening data, drawing weights */
    RUN_RUNNING,
    RUN_PAUSED,
    RUN_VALIDATING,
    RUN_DONE,
    RUN_STOPPED, /* by the user; saved */
    RUN_FAILED,
    RUN_REFUSED,     /* the configuration cannot work: nothing was started */
    RUN_INTERRUPTED, /* its process ended without saving */
};

/* Returns the name of a status in files: "running". */
const char *run_status_name(enum run_status status);
/* Returns whether the run has ended. */
bool run_status_is_over(enum run_status status);

/* The best model of a finished run on its test set, of which nothing was chosen. */
struct run_test {
    uint64_t images; /* 0: the run has no test set, or has not reached its end */
    double epoch;    /* after which the model was saved */
    double loss, top1, top5, pixel_accuracy; /* as those of a validation */
};

struct run_snapshot {
    enum run_status status;
    uint64_t iteration, iterations; /* iterations done, and in the whole run */
    double epoch, epochs;           /* epochs done, with a fraction, and in the whole run */
    float loss, loss_caffe;
    double loss_mean;
    float loss_discriminator, loss_l1; /* NaN: there is no discriminator */
    double learning_rate;
    double loss_scale;      /* in fp16: what the loss is scaled by; 0 in other precisions */
    uint64_t skipped_steps; /* in fp16: steps skipped so far, because a gradient overflowed */
    double ms_per_image_now, ms_per_image_median, images_per_second;
    double elapsed_seconds, eta_seconds; /* eta < 0: unknown */
    double feed_wait_seconds;            /* the sum of all waits for data */
    uint64_t memory_measured;            /* resident bytes of the process; 0: not measured */
    uint64_t memory_highest;             /* peak of the same since the run began */
    struct {
        bool known;                   /* one is over */
        double loss, best_loss;       /* best_loss NaN: none is finite, or it is not known */
        double top1, top5, best_top1; /* percent */
        double pixel_accuracy;        /* percent; NaN: the network predicts classes */
        uint64_t done, of;            /* images done, and in all, while validating */
    } validation;
    bool testing; /* it validates the best model on the test set */
    struct run_test test;
    uint64_t begun_at; /* the iteration from which it was resumed; 0: from the start */
    struct {
        uint64_t count;     /* written so far */
        uint64_t iteration; /* of the last one; 0: none yet */
        double seconds;     /* spent on all of them */
    } checkpoint;
    /* The energy (J), the time (s) and the images trained while the energy was measured, without
     * pauses. If that is too little (run_snapshot_has_energy), `unknown` says why; "": it is not
     * known yet, or an older version trained the run. */
    struct {
        double joules, seconds, images;
        char unknown[ENERGY_REASON_SIZE];
    } energy;
    size_t finding_count;
    /* The reason if the run failed or was refused. While it runs: what cannot be written at present
     * (a full disk), or a command to save or inspect that failed. At the end: what was lost. */
    struct error error;
};

/* Returns the untranslated word for the state of a run in all views: the name of its status, but
 * "diverged" if the run failed because its loss was NaN or infinite. */
const char *run_snapshot_word(const struct run_snapshot *snapshot);

/* Takes the loss of a validation into the best one. Call it before has_validation is set. */
static inline void run_snapshot_take_validation_loss(struct run_snapshot *snapshot, double loss)
{
    if (!snapshot->validation.known)
        snapshot->validation.best_loss = (double)NAN;
    if (isfinite(loss) && !(loss >= snapshot->validation.best_loss))
        snapshot->validation.best_loss = loss;
}

/* Returns whether the energy is known. */
static inline bool run_snapshot_has_energy(const struct run_snapshot *snapshot)
{
    return snapshot->energy.images > 0 && snapshot->energy.joules > 0 &&
           snapshot->energy.seconds >= ENERGY_LEAST_SECONDS;
}

/* Return the energy of an image in joules, and the mean power in watts; NaN if not known. */
static inline double run_snapshot_joules_per_image(const struct run_snapshot *snapshot)
{
    return run_snapshot_has_energy(snapshot) ? snapshot->energy.joules / snapshot->energy.images
                                             : (double)NAN;
}

static inline double run_snapshot_watts(const struct run_snapshot *snapshot)
{
    return run_snapshot_has_energy(snapshot) ? snapshot->energy.joules / snapshot->energy.seconds
                                             : (double)NAN;
}

/* --- causes --- */

/* A lack of memory or of disk space can end a run that can go on later, as distinct from a fault of
 * its own. Thread-safe. */

enum run_cause { RUN_CAUSE_OTHER, RUN_CAUSE_MEMORY, RUN_CAUSE_DISK };

/* Returns what the error says: the kind of a lack of memory, or a full disk, by its mark or in its
 * words the system's reason. */
enum run_cause run_cause_of_error(const struct error *error);

/* Returns the cause's name in files: other languages read them, too. */
const char *run_cause_name(const struct error *error);

/* Marks an error that was read from a file with the cause that the file names; NULL: none. */
void run_cause_take(struct error *error, const char *name);

/* Returns the cause of the end of a run that failed or whose process was killed; of any other run
 * RUN_CAUSE_OTHER. */
enum run_cause run_cause_of(const struct run_snapshot *snapshot);

/* --- figures --- */

/* These figures are shown as the results of a run everywhere: in the list of runs, the comparison,
 * sweeps, reports, and messages at the end. Thread-safe. */

struct series;

/* Returns the figures of a run. `series`: its curves; NULL: they are not read, and the best
 * validation loss of a run of an earlier version is not known. */
struct run_figures run_figures_of(const struct run_snapshot *now, const struct series *series);

#endif
