#include "engine/training/early_stopping.h"

#include <math.h>

const char *const early_stopping_names[EARLY_STOPPING_METRICS + 1] = {
    [EARLY_STOPPING_LOSS] = "loss", [EARLY_STOPPING_TOP1] = "top1"};

struct early_stopping_state early_stopping_begin(void)
{
    return (struct early_stopping_state){.best = NAN};
}

bool early_stopping_step(const struct early_stopping_settings *settings,
                         struct early_stopping_state *state, double loss, double top1)
{
    const bool by_loss = settings->metric == EARLY_STOPPING_LOSS;
    const double value = by_loss ? loss : top1, best = state->best;
    const double gain = by_loss ? best - value : value - best;
    if (settings->patience == 0)
        return true;
    if (gain > settings->change || (isnan(best) && !isnan(value))) {
        state->best = value;
        state->stale = 0;
        return true;
    }
    return ++state->stale < settings->patience;
}
