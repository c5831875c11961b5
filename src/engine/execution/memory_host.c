/* The host's memory, for devices that compute there: nothing is copied, and nothing waits. The
 * solver can limit gradients, freeze weights, and train with weights that are rounded to integers.
 */
#include "engine/execution/internal.h"

#include "base/clock.h"
#include "engine/profile/profile.h"

#include <assert.h>
#include <math.h>

static void bind(struct execution *execution, const struct execution_batch *batch)
{
    assert(!batch->image_samples && !batch->target_samples);
    execution_set_batch(execution, batch);
}

static void release(struct execution *execution)
{
    struct device *device = execution->device;
    device->driver->release(device, execution->arena);
    device->driver->release(device, execution->derived.prepared);
    device->driver->release(device, execution->gradients);
    device->driver->release(device, execution->state[0]);
    device->driver->release(device, execution->state[1]);
}

static void update(struct execution *execution, float learning_rate)
{
    int8_weights_mask(execution);
    if (execution->groups)
        parameter_groups_clear(execution->groups, execution->gradients);
    gradients_clip(&execution->clipping, execution->gradients,
                   execution->plan->graph->learnable_floats, execution->device->pool);
    execution_run_update(execution, learning_rate, execution->solver_step);
}

static const float *output(const struct execution *execution)
{
    return execution->values[execution->plan->graph->output];
}

static const float *gradients(const struct execution *execution)
{
    return execution->gradients;
}

static float *solver_state(struct execution *execution, size_t which)
{
    return execution->state[which];
}

static void touch(struct execution *execution)
{
    weights_mark_updated(execution->weights);
}

static void mix_gradients(struct execution *execution, const float *more, float scale)
{
    const size_t count = execution->plan->graph->learnable_floats;
    for (size_t i = 0; i < count; i++)
        execution->gradients[i] = scale * (execution->gradients[i] + more[i]);
}

static const float *losses(const struct execution *execution, size_t loss)
{
    return execution->values[execution->plan->graph->losses[loss]];
}

static bool all_finite(const struct execution *execution, const float *values, size_t count)
{
    (void)execution;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void begin_call(struct execution *execution)
{
    execution->call_start = profile_start(execution->profile);
}

static void end_call(struct execution *execution, size_t node, bool backward)
{
    profile_add_node(execution->profile, node, backward,
                     clock_nanoseconds() - execution->call_start);
}

const struct execution_memory memory_host = {
    .free = release,
    .bind = bind,
    .forward = execution_run_forward,
    .backward = execution_run_backward,
    .update = update,
    .output = output,
    .gradients = gradients,
    .solver_state = solver_state,
    .touch = touch,
    .mix_gradients = mix_gradients,
    .losses = losses,
    .all_finite = all_finite,
    .begin_call = begin_call,
    .end_call = end_call,
};
