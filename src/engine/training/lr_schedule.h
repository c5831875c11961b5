/* schedule.h: the learning rate over a run.
 *
 *   fixed    rate
 *   step     rate * gamma ^ floor(iteration / step_size)
 *   poly     rate * (1 - iteration / iterations) ^ power
 *   cosine   rate * (1 + cos(pi * iteration / iterations)) / 2        (Loshchilov & Hutter 2017)
 *   linear   rate, from the middle of the run on falling to 0     (Isola et al. 2017)
 *   plateau  divided by 10 when the epoch's loss has not improved by more than 0.01 for 10 epochs
 * in a row; the fourth such plateau ends the run (Gondim Santos 2019)
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
    LR_SCHEDULE_KINDS
};

struct lr_schedule_settings {
    enum lr_schedule_kind kind;
    double learning_rate;
    double gamma;        /* step: factor; plateau: factor (0.1) */
    uint64_t step_size;  /* step: iterations */
    double power;        /* poly */
    uint64_t iterations; /* poly, cosine, linear: of the whole run */
    size_t patience;     /* plateau: epochs without improvement, 10 */
    double threshold;    /* plateau: an improvement is more than this, 0.01 */
    size_t plateaus;     /* plateau: the run ends at this one, 4 */
};

/* What must be kept to resume. `scale` is 1 until the user changes the rate by hand. */
struct lr_schedule_state {
    double best_loss; /* plateau; +infinity at the start */
    size_t stale_epochs, plateaus_seen;
    double scale;
};

struct lr_schedule_state lr_schedule_begin(void);

/* The rate of iteration `iteration` (from 0). */
double lr_schedule_rate(const struct lr_schedule_settings *settings,
                        const struct lr_schedule_state *state, uint64_t iteration);

/* To be told after every epoch. *plateau is set when one was just reached. False: the run is over.
 */
bool lr_schedule_end_epoch(const struct lr_schedule_settings *settings,
                           struct lr_schedule_state *state, double epoch_loss, bool *plateau);

const char *lr_schedule_name(enum lr_schedule_kind kind);
bool schedule_parse(const char *name, enum lr_schedule_kind *kind);

#endif
