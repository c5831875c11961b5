/* watcher.h: detects findings while a run trains: negative loss, overfitting, divergence, memory.
 *
 * Call a watcher_ function for each event. It returns true and fills *finding if the event is worth
 * recording. Negative loss, residue, overfitting and memory are reported once per run. */
#ifndef TINCA_RUNS_FINDINGS_WATCHER_H
#define TINCA_RUNS_FINDINGS_WATCHER_H

#include "engine/execution/execution.h"
#include "engine/training/early_stopping.h"
#include "engine/training/loss_meter.h"
#include "runs/values/finding.h"
#include "runs/values/series.h"

#include <stdbool.h>
#include <stdint.h>

/* Initialise it with {0}. */
struct watcher {
    float largest_loss; /* so far; it determines the rounding error of Caffe's mean */
    bool negative_reported, residue_reported, overfitting_reported, memory_reported,
        validation_reported;
    uint64_t skipped; /* unreadable images reported so far */
};

/* The time of an event. */
struct moment {
    uint64_t iteration;
    double epoch;
};

/* Call it after an iteration, once the meter has its loss. Detects a mean of Caffe that is
 * negative, or positive but mostly residue. */
bool watcher_loss(struct watcher *watcher, struct moment now, float loss,
                  const struct loss_meter *meter, struct finding *finding);

/* Call it after a validation, which the series already has; `image_error` comes from
 * lowest_losses_compare. Detects overfitting and a loss that is NaN or infinite. */
bool watcher_validation(struct watcher *watcher, struct moment now, const struct series *series,
                        double image_error, struct finding *finding);

/* Detects a process that takes much more memory than forecast. `expected` is the bytes at the start
 * plus those of the plan and the data loader; `measured` is the present resident memory. */
bool watcher_memory(struct watcher *watcher, struct moment now, uint64_t expected,
                    uint64_t measured, struct finding *finding);

/* Detects new unreadable images. `skipped` is their number so far, and `names` the first of them
 * with the reasons. Reports each new number. */
bool watcher_data(struct watcher *watcher, struct moment now, uint64_t skipped, const char *data,
                  const char *names, struct finding *finding);

/* Fills the finding of a loss that is NaN or infinite. `layer` is the first layer with such
 * values, or NULL if there is none. */
void watcher_divergence(struct moment now, float loss, const struct bad_layer *layer,
                        struct finding *finding);

/* Fills the finding of a plateau of the loss, the `seen`-th one; `last`: it ends the run. */
void watcher_plateau(struct moment now, double old_rate, double new_rate, size_t seen, bool last,
                     struct finding *finding);

/* Fills the finding of a run that early stopping ends. */
void watcher_early_stop(struct moment now, const struct early_stopping_settings *settings,
                        double best, struct finding *finding);

/* Fills the finding of a run that its maximum time (seconds) stops. */
void watcher_time(struct moment now, double seconds, struct finding *finding);

#endif
