#include "session/config/lr_preview.h"

#include "session/config/settings.h"

/* Stands for the length of a run that is not known: every schedule but one depends on the part of
 * the run that is done only. */
static const uint64_t SOME_ITERATIONS = 1000000;

static void measure_run(const struct run_config *config, size_t images, struct lr_preview *plan)
{
    const uint64_t per_epoch = images / config->batch;
    if (config->has_iterations) {
        plan->iterations = config->iterations;
        plan->epochs = per_epoch ? (double)config->iterations / (double)per_epoch : 0;
    } else {
        plan->iterations = per_epoch * config->epochs;
        plan->epochs = (double)config->epochs;
    }
}

bool lr_preview_make(const struct run_config *config, size_t images, float *rates, size_t count,
                     struct lr_preview *plan)
{
    *plan = (struct lr_preview){.by_loss = config->schedule == LR_SCHEDULE_PLATEAU};
    measure_run(config, images, plan);
    if (config->schedule == LR_SCHEDULE_STEP && config->step_size && !plan->iterations)
        return false;
    const uint64_t iterations = plan->iterations ? plan->iterations : SOME_ITERATIONS;
    const struct lr_schedule_settings settings = settings_schedule(config, iterations);
    const struct lr_schedule_state state = lr_schedule_begin();
    for (size_t i = 0; i < count; i++) {
        const double part = (double)i / (double)(count - 1);
        rates[i] = (float)lr_schedule_rate(&settings, &state,
                                           (uint64_t)(part * (double)(iterations - 1) + 0.5));
    }
    plan->first = (double)rates[0];
    plan->last = (double)rates[count - 1];
    return true;
}
