/* Samples the learning-rate schedule at equal distances. All schedules but `inv` and `step` with a
 * step size depend only on the fraction of the run that is done, so any length serves if the real
 * one is unknown. */
#include "runs/settings/lr_preview.h"

#include "runs/settings/settings.h"

static const uint64_t ANY_ITERATIONS = 1000000;

static void measure_run(const struct run_config *config, size_t images, struct lr_preview *preview)
{
    const uint64_t per_epoch = images / config->batch;
    if (config->has_iterations) {
        preview->iterations = config->iterations;
        preview->epochs = per_epoch ? (double)config->iterations / (double)per_epoch : 0;
    } else {
        preview->iterations = per_epoch * config->epochs;
        preview->epochs = (double)config->epochs;
    }
}

/* Returns whether a rate depends on the number of iterations done, whatever the run's length. */
static bool counts_iterations(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_INV ||
           (config->schedule == LR_SCHEDULE_STEP && config->step_size);
}

bool lr_preview_make(const struct run_config *config, size_t images, float *rates, size_t count,
                     struct lr_preview *preview)
{
    *preview = (struct lr_preview){.by_loss = config->schedule == LR_SCHEDULE_PLATEAU};
    measure_run(config, images, preview);
    if (counts_iterations(config) && !preview->iterations)
        return false;
    const uint64_t iterations = preview->iterations ? preview->iterations : ANY_ITERATIONS;
    const struct training_settings training = training_settings(config);
    const struct lr_schedule_settings settings = training_schedule(&training, iterations);
    const struct lr_schedule_state state = lr_schedule_begin();
    for (size_t i = 0; i < count; i++) {
        const double part = (double)i / (double)(count - 1);
        rates[i] = (float)lr_schedule_rate(&settings, &state,
                                           (uint64_t)(part * (double)(iterations - 1) + 0.5));
    }
    preview->first = (double)rates[0];
    preview->last = (double)rates[count - 1];
    return true;
}
