/* The backend of devices that compute in the host's memory: nothing is copied and nothing waits. */
#include "engine/execution/int8_weights.h"
#include "engine/execution/passes.h"

#include "base/clock.h"
#include "engine/profile/profile.h"

#include <assert.h>
#include <math.h>

void backend_host_bind(struct execution *execution, const struct execution_batch *batch)
{
    assert(!batch->image_samples && !batch->target_samples);
    execution_set_batch(execution, batch);
}

bool backend_host_reserve(struct execution *execution, struct error *error)
{
    (void)execution;
    (void)error;
    return true;
}

static bool create(struct execution *execution, uint64_t seed, struct error *error)
{
    (void)execution;
    (void)seed;
    (void)error;
    return true;
}

void backend_host_free(struct execution *execution)
{
    struct device *device = execution->device;
    device->driver->release(device, execution->arena);
    device->driver->release(device, execution->prepared);
    device->driver->release(device, execution->gradients);
    device->driver->release(device, execution->state[0]);
    device->driver->release(device, execution->state[1]);
}

void backend_host_update(struct execution *execution, float learning_rate)
{
    int8_weights_mask(execution);
    if (execution->groups)
        parameter_groups_clear(execution->groups, execution->gradients);
    gradients_clip(&execution->clipping, execution->gradients,
                   execution->plan->graph->learnable_floats, execution->device->pool);
    execution_run_update(execution, learning_rate, execution->solver_step);
}

float backend_host_iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    execution->backend->forward(execution, iteration);
    const float loss = execution_loss(execution);
    if (!isfinite(loss))
        return loss;
    execution->backend->backward(execution);
    execution_update(execution, learning_rate);
    return loss;
}

void backend_host_wait(struct execution *execution)
{
    (void)execution;
}

const float *backend_host_output(const struct execution *execution)
{
    return execution->values[execution->plan->graph->output];
}

const float *backend_host_gradients(const struct execution *execution)
{
    return execution->gradients;
}

float *backend_host_solver_state(struct execution *execution, size_t which)
{
    return execution->state[which];
}

bool backend_host_fetch(struct execution *execution, struct error *error)
{
    (void)execution;
    (void)error;
    return true;
}

void backend_host_touch(struct execution *execution)
{
    weights_mark_updated(execution->weights);
}

void backend_host_mix_gradients(struct execution *execution, const float *more, float scale)
{
    const size_t count = execution->plan->graph->learnable_floats;
    for (size_t i = 0; i < count; i++)
        execution->gradients[i] = scale * (execution->gradients[i] + more[i]);
}

const float *backend_host_losses(const struct execution *execution, size_t loss)
{
    return execution->values[execution->plan->graph->losses[loss]];
}

bool backend_host_all_finite(const struct execution *execution, const float *values, size_t count)
{
    (void)execution;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

void backend_host_begin_call(struct execution *execution)
{
    execution->call_start = profile_start(execution->profile);
}

void backend_host_end_call(struct execution *execution, size_t node, bool backward)
{
    profile_add_node(execution->profile, node, backward,
                     clock_nanoseconds() - execution->call_start);
}

void backend_host_end_pass(struct execution *execution)
{
    (void)execution;
}

const struct execution_backend backend_host = {
    .reserve = backend_host_reserve,
    .create = create,
    .free = backend_host_free,
    .bind = backend_host_bind,
    .forward = execution_run_forward,
    .backward = execution_run_backward,
    .update = backend_host_update,
    .iterate = backend_host_iterate,
    .wait = backend_host_wait,
    .output = backend_host_output,
    .gradients = backend_host_gradients,
    .solver_state = backend_host_solver_state,
    .fetch = backend_host_fetch,
    .touch = backend_host_touch,
    .mix_gradients = backend_host_mix_gradients,
    .losses = backend_host_losses,
    .all_finite = backend_host_all_finite,
    .find_not_finite = execution_run_until_not_finite,
    .begin_call = backend_host_begin_call,
    .end_call = backend_host_end_call,
    .end_pass = backend_host_end_pass,
};
