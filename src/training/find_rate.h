/* find_rate.h: looks for a learning rate, as Smith (2017, "Cyclical learning rates for training
 * neural networks") does.
 *
 * A short training raises the rate from `low` to `high` in equal factors, one for each iteration.
 * The loss falls where the rate is large enough to learn and rises where it is too large. The slope
 * of the loss over the logarithm of the rate is that of the line through the losses of a window of
 * at least 21 rates (wider if none of these windows shows anything). It counts only if it is five
 * times its standard error, for which losses are taken to scatter at least as in the mean of the
 * windows before: the losses of single batches scatter, and so do the first values of any moving
 * average. The suggestion is the rate in the middle of the steepest falling window that counts, up
 * to the window of the least mean loss, behind which the loss falls only after it has risen. The
 * range has the middles of the windows around it that fall at least half as steeply, and at least
 * the inner quarter of the steepest: the suggestion is never an end of it. If no slope counts, or
 * the fall reaches the lowest or the highest rates that were tried, there is no suggestion, and the
 * reason says what was seen and which option to give. The training stops when the smoothed loss (a
 * moving average whose bias is corrected) is four times its least value, or the loss is not finite.
 *
 * Nothing is written: the run has no folder, and its weights are dropped. The same configuration
 * gives the same numbers. */
#ifndef TINCA_TRAINING_FIND_RATE_H
#define TINCA_TRAINING_FIND_RATE_H

#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reports that `done` of `total` iterations are complete; has the type of background_job_progress.
 * Returns false with an error to stop. */
typedef bool find_rate_progress(void *context, uint64_t done, uint64_t total, struct error *error);

struct rate_point {
    double rate;
    double loss, smoothed; /* of the batch, before the step at this rate */
};

enum { FIND_RATE_ITERATIONS = 100, FIND_RATE_LEAST = 10, FIND_RATE_MOST = 100000 };
#define FIND_RATE_LOW  1e-6
#define FIND_RATE_HIGH 10.0

struct rate_suggestion {
    bool found;
    size_t point;           /* the suggested one; 0: there is none */
    size_t lowest, highest; /* the range, in which the loss falls at least half as steeply */
    char reason[400];       /* why there is no suggestion, translated; "": there is one */
};

struct rate_search {
    /* the request, which the caller sets */
    struct run_config config; /* solver, momentum, batch, data ...; its rate is not used */
    double low, high;
    size_t iterations;

    /* the result */
    struct rate_point *points;
    size_t count;
    bool diverged; /* the training stopped before `high` */
    struct rate_suggestion suggestion;
};

/* Runs the search; rate_search_free releases its result. Returns false with an error if the
 * configuration cannot be trained, the limits are no range of rates, or progress returns false. */
bool rate_search_run(struct rate_search *search, find_rate_progress *progress, void *context,
                     struct error *error);
void rate_search_free(struct rate_search *search);

/* Returns the suggestion for `count` points of a search that was to have `iterations`. */
struct rate_suggestion rate_points_suggest(const struct rate_point *points, size_t count,
                                           size_t iterations);

#endif
