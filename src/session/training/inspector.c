/* Inspections of the training (prepare/inspector.h): those that the user asks for, and one of the
 * last iterations, so that views can show where the time went when the run is over. An inspection
 * that nobody has asked for may delay the run by a hundredth of its time, but at most a second. */
#include "session/prepare/inspector.h"

#include "base/clock.h"
#include "session/training/observer.h"

#include <math.h>

struct inspecting {
    struct inspector inspector;
    uint64_t inspected; /* the last iteration of the last inspection; 0: none */
    bool weights;       /* that inspection measured the weights */
};

/* Publishes the error of an inspection; the run goes on. */
static void report_error(struct trainer *trainer, const struct error *failed)
{
    trainer->now.error = *failed;
    trainer_publish(trainer);
}

static double iteration_seconds(const struct trainer *trainer)
{
    return tempo_median(&trainer->tempo) * 1e-3 * (double)trainer->run->config.batch;
}

/* Returns how long an inspection that nobody has asked for may delay the run. */
static double most_seconds(const struct trainer *trainer)
{
    return fmin(0.01 * trainer_seconds(trainer, clock_nanoseconds()), 1);
}

/* Begins an inspection that is worth its time. The weights are left out if there are too many; but
 * it replaces no inspection that has them, because somebody asked for that one. */
static bool begin_inspection(struct inspecting *inspecting, struct trainer *trainer, bool after_end)
{
    const double overhead = 2e-3; /* seconds: a generous estimate for writing the file */
    const double most = most_seconds(trainer);
    const struct inspector_request request = {
        .done = trainer->moment.iteration - after_end,
        .until_end = !after_end,
        .weights = overhead + inspector_weights_seconds(&trainer->prepared) <= most,
        .after_end = after_end};
    struct error failed;
    if (most < overhead || (inspecting->weights && !request.weights))
        return false;
    if (inspector_begin(&inspecting->inspector, &trainer->prepared, &request, &failed))
        return true;
    report_error(trainer, &failed);
    return false;
}

/* Returns how many iterations will follow, as far as that can be foreseen. */
static uint64_t iterations_left(const struct trainer *trainer)
{
    const uint64_t done = trainer->moment.iteration, per_epoch = trainer->prepared.per_epoch;
    const uint64_t left = trainer->now.iterations - done, of_epoch = per_epoch - done % per_epoch;
    return trainer->stop_at_epoch && of_epoch < left ? of_epoch : left;
}

/* Begins an inspection if it will cover the run's last iterations. */
static void begin_last_inspection(struct inspecting *inspecting, struct trainer *trainer)
{
    const uint64_t left = iterations_left(trainer);
    if (!inspector_is_active(&inspecting->inspector) && left <= INSPECTOR_ITERATIONS &&
        (left == 1 || (double)left * iteration_seconds(trainer) <= INSPECTOR_SECONDS))
        begin_inspection(inspecting, trainer, false);
}

/* Publishes the result of an inspection if it is complete; if `last` is true, even if it has fewer
 * iterations than were asked for. */
static void finish_inspection(struct inspecting *inspecting, struct trainer *trainer, bool last)
{
    struct error failed;
    const uint64_t began = clock_nanoseconds();
    if (!inspector_is_complete(&inspecting->inspector, last))
        return;
    struct inspection *seen = inspector_end(&inspecting->inspector, &trainer->prepared, &failed);
    const bool good = seen && inspection_save(seen, trainer->run->directory, &failed);
    if (seen) {
        inspecting->inspected = seen->iteration + seen->iterations - 1;
        inspecting->weights = seen->networks[0].tensor_count > 0;
        const uint64_t took = clock_nanoseconds() - began;
        trainer->clock.iteration += took;
        seen->cost += 1e-9 * (double)took;
        run_state_put_inspection(trainer->run, seen);
    }
    if (!good)
        report_error(trainer, &failed);
}

/* --- during the iterations --- */

/* Measures the weights, outside the time of the iteration. */
static void before_step(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    begin_last_inspection(inspecting, trainer);
    if (!inspector_is_active(&inspecting->inspector))
        return;
    const uint64_t began = clock_nanoseconds();
    execution_wait(trainer_execution(trainer));
    trainer->clock.in_flight = false;
    trainer->clock.iteration += clock_nanoseconds() - began;
    trainer->clock.iteration += inspector_before(&inspecting->inspector, &trainer->prepared);
}

static void after_step(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    if (inspector_is_active(&inspecting->inspector))
        trainer->clock.iteration +=
            inspector_after(&inspecting->inspector, &trainer->prepared, trainer->batch.count);
}

static void after_iteration(void *state, struct trainer *trainer, struct iteration *iteration)
{
    struct inspecting *inspecting = state;
    if (iteration->diverged || !inspector_is_active(&inspecting->inspector))
        return;
    trainer->clock.in_flight = false; /* a profile has waited for every pass */
    finish_inspection(inspecting, trainer, false);
}

static void obey(void *state, struct trainer *trainer, const struct commands *commands)
{
    struct error failed;
    struct inspecting *inspecting = state;
    const struct inspector_request request = {.done = trainer->moment.iteration, .weights = true};
    if (commands_have(commands, COMMAND_INSPECT) &&
        !inspector_begin(&inspecting->inspector, &trainer->prepared, &request, &failed))
        report_error(trainer, &failed);
}

/* --- the end --- */

static void trained(void *state, struct trainer *trainer)
{
    finish_inspection(state, trainer, true);
}

/* Measures the last iteration of a run that was stopped, which nobody could foresee: repeats it.
 * Everything is saved by then, because the weights go on changing. Does nothing if the last
 * iterations have been measured. */
static void afterwards(void *state, struct trainer *trainer, enum run_status status)
{
    struct inspecting *inspecting = state;
    struct inspector *inspector = &inspecting->inspector;
    struct preparation *prepared = &trainer->prepared;
    const double each = iteration_seconds(trainer), most = most_seconds(trainer);
    if ((status != RUN_DONE && status != RUN_STOPPED) || trainer->batch.count == 0 ||
        inspecting->inspected == trainer->moment.iteration || !(each > 0 && each <= most) ||
        !trainer_owns_folder(trainer, true))
        return;
    inspector_abandon(inspector, prepared); /* one that has measured nothing yet */
    if (!begin_inspection(inspecting, trainer, true))
        return;
    const uint64_t began = clock_nanoseconds();
    do {
        inspector_before(inspector, prepared);
        if (!loop_repeat_step(trainer))
            return;
        inspector_after(inspector, prepared, trainer->batch.count);
    } while (clock_seconds(began, clock_nanoseconds()) + each <= most &&
             !inspector_is_complete(inspector, false));
    finish_inspection(inspecting, trainer, true);
}

static void close_inspector(void *state, struct trainer *trainer)
{
    struct inspecting *inspecting = state;
    inspector_abandon(&inspecting->inspector, &trainer->prepared);
}

const struct observer observer_inspector = {.name = "inspector",
                                            .state_bytes = sizeof(struct inspecting),
                                            .before_step = before_step,
                                            .after_step = after_step,
                                            .after_iteration = after_iteration,
                                            .obey = obey,
                                            .trained = trained,
                                            .afterwards = afterwards,
                                            .close = close_inspector};
