/* Computes the learning rate of an iteration from the part of the run that is done, and counts
 * plateaus at the end of epochs. */
#include "engine/training/lr_schedule.h"

#include <math.h>

const char *const lr_schedule_names[LR_SCHEDULE_KINDS + 1] = {
    [LR_SCHEDULE_FIXED] = "fixed",       [LR_SCHEDULE_STEP] = "step",
    [LR_SCHEDULE_POLY] = "poly",         [LR_SCHEDULE_COSINE] = "cosine",
    [LR_SCHEDULE_PLATEAU] = "plateau",   [LR_SCHEDULE_LINEAR] = "linear",
    [LR_SCHEDULE_ONECYCLE] = "onecycle", [LR_SCHEDULE_INV] = "inv"};

static const double pi = 3.14159265358979323846;

struct lr_schedule_state lr_schedule_begin(void)
{
    return (struct lr_schedule_state){.best_loss = INFINITY, .scale = 1};
}

/* Returns the part of the run that is done, in [0, 1]. */
static double progress(const struct lr_schedule_settings *settings, uint64_t iteration)
{
    if (settings->iterations == 0 || iteration >= settings->iterations)
        return 1;
    return (double)iteration / (double)settings->iterations;
}

/* Returns the value at `part` of the way from `from` to `to` along half a wave of a cosine. */
static double half_wave(double from, double to, double part)
{
    return to + (from - to) / 2 * (1 + cos(pi * part));
}

/* Returns the value of onecycle that begins with `first`, reaches `highest` and ends with `last`.
 * The last iteration has the number iterations - 1. */
static double one_cycle(const struct lr_schedule_settings *settings, uint64_t iteration,
                        double first, double highest, double last)
{
    const double rise = 0.3;
    const double top = rise * (double)settings->iterations - 1;
    const double end = (double)settings->iterations - 1, at = fmin((double)iteration, end);
    if (at <= top)
        return half_wave(first, highest, top > 0 ? at / top : 1);
    return half_wave(highest, last, (at - top) / (end - top));
}

/* Returns the factor on the initial rate, without the warm-up. */
static double factor(const struct lr_schedule_settings *settings,
                     const struct lr_schedule_state *state, uint64_t iteration)
{
    const uint64_t steps = settings->step_size ? iteration / settings->step_size : 0;
    switch (settings->kind) {
    case LR_SCHEDULE_STEP:
        return pow(settings->gamma, (double)steps);
    case LR_SCHEDULE_POLY:
        return pow(1 - progress(settings, iteration), settings->power);
    case LR_SCHEDULE_INV:
        return pow(1 + settings->gamma * (double)iteration, -settings->power);
    case LR_SCHEDULE_COSINE:
        return half_wave(1, 0, progress(settings, iteration));
    case LR_SCHEDULE_LINEAR:
        return fmin(1, 2 * (1 - progress(settings, iteration)));
    case LR_SCHEDULE_ONECYCLE:
        return one_cycle(settings, iteration, 1.0 / 25, 1, 1.0 / 25 * 1e-4);
    case LR_SCHEDULE_PLATEAU:
        return pow(settings->gamma, (double)state->plateaus_seen);
    default:
        return 1;
    }
}

double lr_schedule_rate(const struct lr_schedule_settings *settings,
                        const struct lr_schedule_state *state, uint64_t iteration)
{
    const double warm =
        iteration < settings->warm_up ? (double)(iteration + 1) / (double)settings->warm_up : 1;
    return settings->learning_rate * state->scale * warm * factor(settings, state, iteration);
}

double lr_schedule_momentum(const struct lr_schedule_settings *settings, uint64_t iteration)
{
    const double high = settings->momentum;
    return settings->kind == LR_SCHEDULE_ONECYCLE && settings->low_momentum > 0
               ? one_cycle(settings, iteration, high, settings->low_momentum, high)
               : high;
}

bool lr_schedule_end_epoch(const struct lr_schedule_settings *settings,
                           struct lr_schedule_state *state, double epoch_loss, bool *plateau)
{
    *plateau = false;
    if (settings->kind != LR_SCHEDULE_PLATEAU)
        return true;
    if (epoch_loss < state->best_loss - settings->threshold) {
        state->best_loss = epoch_loss;
        state->stale_epochs = 0;
        return true;
    }
    if (++state->stale_epochs < settings->patience)
        return true;
    *plateau = true;
    state->stale_epochs = 0;
    state->plateaus_seen++;
    return state->plateaus_seen < settings->plateaus;
}
