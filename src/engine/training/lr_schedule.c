#include "engine/training/lr_schedule.h"

#include <math.h>
#include <string.h>

static const char *const names[LR_SCHEDULE_KINDS] = {"fixed",  "step",    "poly",
                                                     "cosine", "plateau", "linear"};

struct lr_schedule_state lr_schedule_begin(void)
{
    return (struct lr_schedule_state){.best_loss = INFINITY, .scale = 1};
}

/* How far through the run, in [0, 1]. */
static double progress(const struct lr_schedule_settings *settings, uint64_t iteration)
{
    if (settings->iterations == 0 || iteration >= settings->iterations)
        return 1;
    return (double)iteration / (double)settings->iterations;
}

static double factor(const struct lr_schedule_settings *settings,
                     const struct lr_schedule_state *state, uint64_t iteration)
{
    const uint64_t steps = settings->step_size ? iteration / settings->step_size : 0;
    switch (settings->kind) {
    case LR_SCHEDULE_STEP:
        return pow(settings->gamma, (double)steps);
    case LR_SCHEDULE_POLY:
        return pow(1 - progress(settings, iteration), settings->power);
    case LR_SCHEDULE_COSINE:
        return (1 + cos(3.14159265358979323846 * progress(settings, iteration))) / 2;
    case LR_SCHEDULE_LINEAR:
        return fmin(1, 2 * (1 - progress(settings, iteration)));
    case LR_SCHEDULE_PLATEAU:
        return pow(settings->gamma, (double)state->plateaus_seen);
    default:
        return 1;
    }
}

double lr_schedule_rate(const struct lr_schedule_settings *settings,
                        const struct lr_schedule_state *state, uint64_t iteration)
{
    return settings->learning_rate * state->scale * factor(settings, state, iteration);
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

const char *lr_schedule_name(enum lr_schedule_kind kind)
{
    return names[kind];
}

bool schedule_parse(const char *name, enum lr_schedule_kind *kind)
{
    for (size_t i = 0; i < LR_SCHEDULE_KINDS; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum lr_schedule_kind)i;
            return true;
        }
    return false;
}
