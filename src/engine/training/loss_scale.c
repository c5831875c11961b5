#include "engine/training/loss_scale.h"

#include <math.h>

static const float start = 65536, growth = 2, backoff = 0.5f;
enum { GROWTH_INTERVAL = 2000 };

struct loss_scale loss_scale_start(void)
{
    return (struct loss_scale){.scale = start};
}

void loss_scale_step(struct loss_scale *scale, bool overflow)
{
    if (overflow) {
        scale->scale *= backoff;
        scale->steps = 0;
        scale->skipped++;
        return;
    }
    if (++scale->steps < GROWTH_INTERVAL)
        return;
    if (isfinite(scale->scale * growth))
        scale->scale *= growth;
    scale->steps = 0;
}
