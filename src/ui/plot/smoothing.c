#include "ui/plot/smoothing.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static const struct smoothed nothing = {{NAN, NAN, NAN}};

void smoothing_clear(struct smoothing *smoothing)
{
    smoothing->newest = nothing;
    smoothing->count = 0;
}

void smoothing_free(struct smoothing *smoothing)
{
    free(smoothing->kept);
    *smoothing = (struct smoothing){0};
}

void smoothing_step(struct smoothed *state, const struct series *series, size_t index)
{
    const struct series_point *point = &series->points[index];
    const float values[TRACES_SMOOTHED] = {point->loss, point->loss_discriminator, point->loss_l1};
    state->values[TRACE_SMOOTHED] = series_smoothed(series, state->values[TRACE_SMOOTHED], index);
    for (enum trace trace = TRACE_SMOOTHED + 1; trace < TRACES_SMOOTHED; trace++)
        state->values[trace] = series_smooth(state->values[trace], values[trace], index + 1);
}

bool smoothing_extend(struct smoothing *smoothing, const struct series *series, size_t count,
                      struct error *error)
{
    if (smoothing->count == 0)
        smoothing->newest = nothing;
    if (!memory_grow(&smoothing->kept, &smoothing->capacity, count / SMOOTHING_STRIDE + 1,
                     sizeof *smoothing->kept, "the smoothed curves", error))
        return false;
    for (; smoothing->count < count; smoothing->count++) {
        if (smoothing->count % SMOOTHING_STRIDE == 0)
            smoothing->kept[smoothing->count / SMOOTHING_STRIDE] = smoothing->newest;
        smoothing_step(&smoothing->newest, series, smoothing->count);
    }
    return true;
}

struct smoothed smoothing_state_before(const struct smoothing *smoothing,
                                       const struct series *series, size_t index)
{
    if (index == smoothing->count)
        return smoothing->count > 0 ? smoothing->newest : nothing;
    struct smoothed state = smoothing->kept[index / SMOOTHING_STRIDE];
    for (size_t i = index / SMOOTHING_STRIDE * SMOOTHING_STRIDE; i < index; i++)
        smoothing_step(&state, series, i);
    return state;
}
