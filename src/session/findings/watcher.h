/* watcher.h: notices what findings are made of. Internal to session/.
 *
 * Each watcher_ function is told a fact and returns true, with a finding that is to be recorded,
 * when that fact is worth one. */
#ifndef TINCA_SESSION_FINDINGS_WATCHER_H
#define TINCA_SESSION_FINDINGS_WATCHER_H

#include "engine/execution/execution.h"
#include "engine/training/loss_meter.h"
#include "session/values/finding.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts as {0}. */
struct watcher {
    float largest_loss; /* so far: what Caffe's mean was rounded against */
    bool negative_reported, residue_reported, overfitting_reported, memory_reported,
        validation_reported;
    size_t validations, worse; /* in all; in a row above the best */
    double best_loss, train_at_best, best_epoch;
    uint64_t best_iteration;
    uint64_t skipped; /* unreadable images reported so far */
};

/* When something happened. */
struct moment {
    uint64_t iteration;
    double epoch;
};

/* After an iteration, whose loss the meter has taken in: Caffe's mean below zero, or above it and
 * mostly residue. */
bool watcher_loss(struct watcher *watcher, struct moment now, float loss,
                  const struct loss_meter *meter, struct finding *finding);

/* After a validation; `train_loss` is the mean loss of the epoch that led to it. */
bool watcher_validation(struct watcher *watcher, struct moment now, double train_loss,
                        double validation_loss, struct finding *finding);

/* `expected`: bytes at the start plus what the plan and the feed were forecast to take. */
bool watcher_memory(struct watcher *watcher, struct moment now, uint64_t expected,
                    uint64_t measured, struct finding *finding);

/* `skipped`: images that could not be read so far. */
bool watcher_data(struct watcher *watcher, struct moment now, uint64_t skipped, const char *data,
                  struct finding *finding);

/* `layer` is NULL when every value was finite. */
void watcher_divergence(struct moment now, float loss, const struct bad_layer *layer,
                        struct finding *finding);
void watcher_plateau(struct moment now, double old_rate, double new_rate, size_t seen, bool last,
                     struct finding *finding);

#endif
