/* Ends a run before its last iteration: after validations that get no better (--stop-patience), or
 * after the time that this process may train (--max-time). */
#include "training/observer.h"

#include "base/clock.h"
#include "engine/training/early_stopping.h"

struct stopping {
    struct early_stopping_state state;
};

static void create(void *state, struct trainer *trainer)
{
    struct stopping *stopping = state;
    (void)trainer;
    stopping->state = early_stopping_begin();
}

static void after_validation(void *state, struct trainer *trainer,
                             const struct evaluation *evaluation,
                             const struct series_validation *row)
{
    struct finding finding;
    struct stopping *stopping = state;
    const struct early_stopping_settings *settings = &trainer->settings.training.early_stopping;
    (void)row;
    if (early_stopping_step(settings, &stopping->state, evaluation->loss, evaluation->top1))
        return;
    trainer->ended = true;
    watcher_early_stop(trainer->moment, settings, stopping->state.best, &finding);
    trainer_add_finding(trainer, &finding);
}

static bool between(void *state, struct trainer *trainer, bool epoch_over)
{
    struct finding finding;
    const double limit = trainer->settings.training.time_limit;
    const double seconds =
        trainer_seconds(trainer, clock_nanoseconds()) - trainer->clock.earlier_seconds;
    (void)state;
    (void)epoch_over;
    if (seconds < limit)
        return true;
    trainer->stop = true;
    watcher_time(trainer->moment, limit, &finding);
    trainer_add_finding(trainer, &finding);
    return true;
}

static const struct saved_number numbers[] = {
    ADDED(NUMBER, "early_stopping.best", struct stopping, state.best),
    ADDED(COUNT, "early_stopping.stale", struct stopping, state.stale),
    {0}};

const struct observer observer_stopping = {.name = "stopping",
                                           .state_bytes = sizeof(struct stopping),
                                           .numbers = numbers,
                                           .create = create,
                                           .after_validation = after_validation,
                                           .between = between};
