/* lr_schedule.h: the learning rate over a run.
 *
 *     fixed    rate
 *     step     rate * gamma ^ floor(iteration / step_size)
 *     poly     rate * (1 - iteration / iterations) ^ power
 *     inv      rate * (1 + gamma * iteration) ^ -power               (Caffe's policy of this name)
 *     cosine   rate * (1 + cos(pi * iteration / iterations)) / 2     (Loshchilov & Hutter 2017)
 *     linear   rate in the first half of the run, then falling linearly to 0 (Isola et al. 2017)
 *     onecycle from rate / 25 to rate in 30 % of the run, then to rate / 250000, along half waves
 *              of a cosine (Smith & Topin 2018, with PyTorch's defaults); the momentum stays, or
 *              goes from its value to `low_momentum` while the rate rises, and back while it falls
 *     plateau  rate * gamma ^ (plateaus reached so far)              (Gondim Santos 2019)
 *
 * During a warm-up of n iterations, iteration i has (i + 1) / n of this rate (Goyal et al. 2017).
 *
 * A plateau is reached when the loss has not improved by more than `threshold` for `patience`
 * epochs in a row. The run ends with plateau number `plateaus`.
 */
#ifndef TINCA_ENGINE_TRAINING_LR_SCHEDULE_H
#define TINCA_ENGINE_TRAINING_LR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lr_schedule_kind {
    LR_SCHEDULE_FIXED,
    LR_SCHEDULE_STEP,
    LR_SCHEDULE_POLY,
    LR_SCHEDULE_COSINE,
    LR_SCHEDULE_PLATEAU,
    LR_SCHEDULE_LINEAR,
    LR_SCHEDULE_ONECYCLE,
    LR_SCHEDULE_INV,
    LR_SCHEDULE_KINDS
};

/* The names of the kinds, by enum lr_schedule_kind, then NULL. */
extern const char *const lr_schedule_names[LR_SCHEDULE_KINDS + 1];

struct lr_schedule_settings {
    enum lr_schedule_kind kind;
    double learning_rate;
    double gamma;        /* step, plateau: factor of each decrease; inv: growth of the divisor */
    uint64_t step_size;  /* step: iterations between decreases */
    double power;        /* poly, inv */
    double momentum;     /* that of the solver */
    double low_momentum; /* onecycle; 0: the momentum stays */
    uint64_t warm_up;    /* iterations; 0: none */
    uint64_t iterations; /* poly, cosine, linear, onecycle: length of the run */
    size_t patience;     /* plateau: epochs without improvement */
    double threshold;    /* plateau: the loss improves if it falls by more than this */
    size_t plateaus;     /* plateau: the run ends with this one */
};

/* The state that a checkpoint must hold to resume. */
struct lr_schedule_state {
    double best_loss; /* plateau: of all epochs; +infinity at the start */
    size_t stale_epochs, plateaus_seen;
    double scale; /* factor on the rate; 1 until the user changes the rate by hand */
};

/* Returns the state at the start of a run. */
struct lr_schedule_state lr_schedule_begin(void);

/* Returns the learning rate of an iteration; the first one has number 0. */
double lr_schedule_rate(const struct lr_schedule_settings *settings,
                        const struct lr_schedule_state *state, uint64_t iteration);

/* Returns the momentum of an iteration. */
double lr_schedule_momentum(const struct lr_schedule_settings *settings, uint64_t iteration);

/* Updates the state at the end of an epoch with its mean loss, and sets *plateau if the epoch
 * completed a plateau. Returns false if the run ends with it. */
bool lr_schedule_end_epoch(const struct lr_schedule_settings *settings,
                           struct lr_schedule_state *state, double epoch_loss, bool *plateau);

#endif
