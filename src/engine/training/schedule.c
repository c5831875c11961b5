#include "engine/training/schedule.h"

#include <math.h>
#include <string.h>

static const char *const names[SCHEDULE_KINDS] = {"fixed",  "step",    "poly",
                                                  "cosine", "plateau", "linear"};

struct schedule_state schedule_begin(void)
{
    return (struct schedule_state){.best_loss = INFINITY, .scale = 1};
}

/* How far through the run, in [0, 1]. */
static double progress(const struct schedule_settings *settings, uint64_t iteration)
{
    if (settings->iterations == 0 || iteration >= settings->iterations)
        return 1;
    return (double)iteration / (double)settings->iterations;
}

static double factor(const struct schedule_settings *settings, const struct schedule_state *state,
                     uint64_t iteration)
{
    const uint64_t steps = settings->step_size ? iteration / settings->step_size : 0;
    switch (settings->kind) {
    case SCHEDULE_STEP:
        return pow(settings->gamma, (double)steps);
    case SCHEDULE_POLY:
        return pow(1 - progress(settings, iteration), settings->power);
    case SCHEDULE_COSINE:
        return (1 + cos(3.14159265358979323846 * progress(settings, iteration))) / 2;
    case SCHEDULE_LINEAR:
        return fmin(1, 2 * (1 - progress(settings, iteration)));
    case SCHEDULE_PLATEAU:
        return pow(settings->gamma, (double)state->plateaus_seen);
    default:
        return 1;
    }
}

double schedule_rate(const struct schedule_settings *settings, const struct schedule_state *state,
                     uint64_t iteration)
{
    return settings->learning_rate * state->scale * factor(settings, state, iteration);
}

bool schedule_epoch(const struct schedule_settings *settings, struct schedule_state *state,
                    double epoch_loss, bool *plateau)
{
    *plateau = false;
    if (settings->kind != SCHEDULE_PLATEAU)
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

const char *schedule_name(enum schedule_kind kind)
{
    return names[kind];
}

bool schedule_parse(const char *name, enum schedule_kind *kind)
{
    for (size_t i = 0; i < SCHEDULE_KINDS; i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum schedule_kind)i;
            return true;
        }
    return false;
}
