/* The average of strength w after n values x is sum(w^(n-i) x_i) / sum(w^(n-i)): the divisor
 * removes the bias that an average which starts at zero has, as in TensorBoard. */
#include "ui/plot/smoothing.h"

#include "base/language.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *const smoothing_names[] = {"auto", "0", "0.6", "0.9", "0.97", "0.99", "0.999", NULL};

static const struct smoothed nothing = {.values = {NAN, NAN, NAN, NAN, NAN}};

double smoothing_strength(size_t choice)
{
    static const double strengths[] = {-1, 0, 0.6, 0.9, 0.97, 0.99, 0.999};
    return strengths[choice];
}

char *smoothing_words(size_t choice, const struct series *series, char *text, size_t size)
{
    text[0] = '\0';
    if (choice > 0 && smoothing_strength(choice) == 0)
        snprintf(text, size, "%s", _("unsmoothed"));
    else if (choice > 0)
        snprintf(text, size, _("EMA %s"), smoothing_names[choice]);
    else if (series->window)
        snprintf(text, size, _("mean of %zu"), series->window);
    return text;
}

void smoothing_clear(struct smoothing *smoothing, size_t choice)
{
    smoothing->choice = choice;
    smoothing->newest = nothing;
    smoothing->count = 0;
}

void smoothing_free(struct smoothing *smoothing)
{
    free(smoothing->states);
    *smoothing = (struct smoothing){0};
}

/* Adds a value to the average of a trace. NaN and infinity leave a gap and do not count. */
static void average_value(struct smoothed *state, enum trace trace, float value, double strength)
{
    state->values[trace] = NAN;
    if (!isfinite(value))
        return;
    state->sums[trace] = strength * state->sums[trace] + (1 - strength) * (double)value;
    state->weights[trace] = strength * state->weights[trace] + (1 - strength);
    state->values[trace] = state->sums[trace] / state->weights[trace];
}

void smoothing_step(const struct smoothing *smoothing, struct smoothed *state,
                    const struct series *series, size_t index)
{
    const struct series_point *point = &series->points[index];
    const float values[TRACES_SMOOTHED] = {point->loss, point->loss_discriminator, point->loss_l1,
                                           point->loss_labels, point->loss_teacher};
    const double strength = smoothing_strength(smoothing->choice);
    if (smoothing->choice > 0) {
        for (enum trace trace = 0; trace < TRACES_SMOOTHED; trace++)
            average_value(state, trace, values[trace], strength);
        return;
    }
    state->values[TRACE_SMOOTHED] = series_smoothed(series, state->values[TRACE_SMOOTHED], index);
    for (enum trace trace = TRACE_SMOOTHED + 1; trace < TRACES_SMOOTHED; trace++)
        state->values[trace] = series_smooth(state->values[trace], values[trace], index + 1);
}

bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error)
{
    if (smoothing->count == 0)
        smoothing->newest = nothing;
    if (!memory_grow(&smoothing->states, &smoothing->capacity, count / SMOOTHING_STRIDE + 1,
                     sizeof *smoothing->states, "the smoothed curves", error))
        return false;
    for (; smoothing->count < count; smoothing->count++) {
        if (smoothing->count % SMOOTHING_STRIDE == 0)
            smoothing->states[smoothing->count / SMOOTHING_STRIDE] = smoothing->newest;
        smoothing_step(smoothing, &smoothing->newest, series, smoothing->count);
    }
    return true;
}

struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index)
{
    if (index == smoothing->count)
        return smoothing->count > 0 ? smoothing->newest : nothing;
    struct smoothed state = smoothing->states[index / SMOOTHING_STRIDE];
    for (size_t i = index / SMOOTHING_STRIDE * SMOOTHING_STRIDE; i < index; i++)
        smoothing_step(smoothing, &state, series, i);
    return state;
}
