/* The functions of execution.h. They choose a memory and a communicator, and call their functions;
 * the order of an iteration and the sums of the losses depend on neither and are computed here. */
#include "engine/execution/execution.h"

#include "base/clock.h"
#include "engine/execution/internal.h"
#include "engine/graph/image_blocks.h"

#include <math.h>
#include <string.h>

/* Names the communicator's function or, if it has none, the memory's. */
#define FUNCTION(execution, name)                                                                  \
    ((execution)->communicator && (execution)->communicator->name                                  \
         ? (execution)->communicator->name                                                         \
         : (execution)->memory->name)

struct execution *execution_create(const struct plan *plan, struct device *device,
                                   struct weights *weights, const struct solver_settings *solver,
                                   uint64_t seed, struct error *error)
{
    const struct execution_memory *memory =
        device->driver->computes_on_host ? &memory_host : &memory_device;
    const struct execution_communicator *communicator = plan->processes > 1 ? &communicator_mpi
                                                        : plan->ranks > 1   ? &communicator_nccl
                                                                            : NULL;
    return execution_make(memory, communicator, plan, device, weights, solver, seed, NULL, error);
}

bool execution_join(struct execution *execution, struct error *error)
{
    const struct execution_communicator *communicator = execution->communicator;
    return !communicator || !communicator->join || communicator->join(execution, error);
}

void execution_bind(struct execution *execution, const struct execution_batch *batch)
{
    FUNCTION(execution, bind)(execution, batch);
}

void execution_bind_device(struct execution *execution, const struct execution_batch *batch)
{
    execution_set_batch(execution, batch);
}

const struct execution_batch *execution_device_batch(const struct execution *execution)
{
    return &execution->batch;
}

struct recording_refusals execution_recording_refusals(const struct execution *execution)
{
    return execution && execution->memory->refusals ? execution->memory->refusals(execution)
                                                    : (struct recording_refusals){.why = ""};
}

void recording_refusals_add(struct recording_refusals *sum, const struct recording_refusals *more)
{
    if (!sum->why || !sum->why[0])
        sum->why = more->why;
    sum->captures += more->captures;
    sum->passes += more->passes;
}

void execution_record_passes(struct execution *execution)
{
    if (execution->memory->record_passes)
        execution->memory->record_passes(execution);
}

void execution_set_profile(struct execution *execution, struct profile *profile)
{
    execution->profile = profile;
    for (size_t a = 0; a < execution->plan->order.count; a++)
        execution->calls[a].profile = profile;
}

/* --- running --- */

void execution_forward(struct execution *execution, uint64_t iteration)
{
    FUNCTION(execution, forward)(execution, iteration);
}

void execution_backward(struct execution *execution)
{
    FUNCTION(execution, backward)(execution);
}

void execution_update(struct execution *execution, float learning_rate)
{
    const uint64_t start = profile_start(execution->profile);
    execution->solver_step++;
    FUNCTION(execution, update)(execution, learning_rate);
    if (execution->profile)
        profile_add_update(execution->profile, clock_nanoseconds() - start);
}

float execution_iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    if (execution->memory->iterate && !execution->profile)
        return FUNCTION(execution, iterate)(execution, iteration, learning_rate);
    execution_forward(execution, iteration);
    const float loss = execution_loss(execution);
    /* another GPU, which has no profile, has enqueued the collectives of its backward pass */
    if (!isfinite(loss) && execution->plan->ranks == 1)
        return loss;
    execution_backward(execution);
    if (isfinite(loss))
        execution_update(execution, learning_rate);
    return loss;
}

void execution_wait(struct execution *execution)
{
    if (execution->memory->wait)
        FUNCTION(execution, wait)(execution);
}

/* --- results --- */

const float *execution_image_losses(const struct execution *execution)
{
    return execution->memory->losses(execution, 0);
}

const float *execution_output(const struct execution *execution)
{
    return FUNCTION(execution, output)(execution);
}

const float *execution_parameter_gradients(const struct execution *execution)
{
    return execution->memory->gradients(execution);
}

float *execution_solver_state(struct execution *execution, size_t which)
{
    return execution->memory->solver_state(execution, which);
}

bool execution_fetch(struct execution *execution, struct error *error)
{
    return !execution->memory->fetch || execution->memory->fetch(execution, error);
}

void execution_touch(struct execution *execution)
{
    FUNCTION(execution, touch)(execution);
}

/* Waits until the number of solver steps and the scale of the loss are those after the last step.
 */
static void settle(struct execution *execution)
{
    if (execution->memory->settle)
        execution->memory->settle(execution);
}

uint64_t execution_solver_step(struct execution *execution)
{
    settle(execution);
    return execution->solver_step;
}

void execution_set_momentum(struct execution *execution, float momentum)
{
    execution->solver.momentum = momentum;
}

bool execution_set_clipping(struct execution *execution, const struct gradient_clipping *clipping,
                            struct error *error)
{
    const struct device_driver *driver = execution->device->driver;
    if (!driver->computes_on_host && (clipping->norm > 0 || clipping->value > 0))
        return error_set(error, ERROR_UNSUPPORTED, driver->name,
                         "train without it, or choose the device cpu or reference",
                         "it cannot limit gradients");
    execution->clipping = *clipping;
    return true;
}

void execution_set_sums(struct execution *execution, const struct gradient_sums *sums)
{
    if (execution->communicator && execution->communicator->set_sums)
        execution->communicator->set_sums(execution, sums);
}

bool execution_set_groups(struct execution *execution, const struct parameter_groups *groups,
                          struct error *error)
{
    const struct device_driver *driver = execution->device->driver;
    if (!driver->computes_on_host)
        return error_set(
            error, ERROR_UNSUPPORTED, driver->name,
            "train without --freeze and --rates, or choose the device cpu or reference",
            "it cannot freeze weights or give them rates of their own");
    execution->groups = groups;
    return true;
}

void execution_set_solver_step(struct execution *execution, uint64_t step)
{
    settle(execution);
    execution->solver_step = step;
}

struct loss_scale execution_loss_scale(struct execution *execution)
{
    settle(execution);
    return execution_last_loss_scale(execution);
}

struct loss_scale execution_last_loss_scale(const struct execution *execution)
{
    return execution->memory->loss_scale
               ? *execution->memory->loss_scale((struct execution *)execution)
               : (struct loss_scale){0};
}

void execution_set_loss_scale(struct execution *execution, struct loss_scale scale)
{
    settle(execution);
    if (execution_last_loss_scale(execution).scale > 0 && scale.scale > 0)
        *execution->memory->loss_scale(execution) = scale;
}

/* --- device memory --- */

static float *at(const struct execution *execution, size_t offset)
{
    return offset == PLAN_NONE ? NULL : (float *)(execution->arena + offset);
}

const float *execution_device_output(const struct execution *execution)
{
    return execution->values[execution->plan->graph->output];
}

const float *execution_device_gradients(const struct execution *execution)
{
    return execution->gradients;
}

void execution_mix_gradients(struct execution *execution, const float *more, float scale)
{
    execution->memory->mix_gradients(execution, more, scale);
}

const float *execution_device_input_gradient(const struct execution *execution)
{
    return at(execution, execution->plan->arena.gradients[0]);
}

float *execution_device_output_gradient(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    return plan->seeds_output_gradient ? at(execution, plan->arena.gradients[plan->graph->output])
                                       : NULL;
}

/* --- divergence --- */

bool execution_find_first_bad_layer(struct execution *execution, uint64_t iteration,
                                    struct bad_layer *layer)
{
    const struct execution_communicator *communicator = execution->communicator;
    const size_t step =
        communicator && communicator->find_not_finite
            ? communicator->find_not_finite(execution, iteration, &layer->in_weights)
            : execution_run_until_not_finite(execution, iteration, &layer->in_weights);
    if (step == PLAN_NONE)
        return false;
    memcpy(layer->node, execution->plan->steps[step].site.node->name, sizeof layer->node);
    return true;
}
