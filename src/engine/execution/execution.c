/* The passes of a plan, one action after the other. What a device with memory of its own needs
 * besides is in execution_remote.c, and how several of them work together in execution_group.c. */
#include "engine/execution/execution_inside.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/devices/device_backend.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- creation --- */

static float *at(const struct execution *execution, size_t offset)
{
    return offset == PLAN_NONE ? NULL : (float *)(execution->arena + offset);
}

static void set_parameters(struct execution *execution, float *weights, struct kernel_call *call)
{
    const struct graph *graph = execution->plan->graph;
    const struct node *node = call->site->node;
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[node->parameters[p]];
        call->parameters[p] = weights + parameter->offset;
        call->parameter_gradients[p] = parameter->learnable && execution->gradients
                                           ? execution->gradients + parameter->offset
                                           : NULL;
    }
}

static void set_call(struct execution *execution, float *weights, size_t action, uint64_t seed)
{
    const struct plan *plan = execution->plan;
    const enum plan_pass pass = plan->order[action].pass;
    const size_t s = plan->order[action].step;
    const struct plan_step *step = &plan->steps[s];
    struct kernel_call *call = &execution->calls[action];
    *call = (struct kernel_call){
        .site = &execution->sites[s],
        .output_gradient = at(execution, plan->gradients[step->node]),
        .saved = at(execution, pass == PLAN_FORWARD ? step->saved : step->backward_saved),
        .workspace = execution->arena + plan->workspace,
        .seed = seed,
        .node_number = step->node,
        .again = pass == PLAN_RECOMPUTE,
        .pool = execution->device->pool,
        .context = execution->device->state};
    memcpy(call->accumulate, step->accumulate, sizeof call->accumulate);
    for (size_t k = 0; k < step->input_count; k++)
        call->input_gradients[k] =
            step->site.input_gradient[k] ? at(execution, plan->gradients[step->inputs[k]]) : NULL;
    set_parameters(execution, weights, call);
}

/* Values follow the batch that is bound: inputs lie in the caller's memory, and views of inputs
 * too. */
static void find_values(struct execution *execution, const size_t *offsets, float **values)
{
    const struct plan *plan = execution->plan;
    const struct graph *graph = plan->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == &op_input)
            values[n] = (float *)(n == 0 ? execution->batch.images : execution->batch.targets);
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        float *own = at(execution, offsets[step->node]);
        values[step->node] = own ? own : values[step->inputs[0]];
    }
}

static void set_values(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    find_values(execution, plan->values, execution->values);
    find_values(execution, plan->backward_values, execution->backward_values);
    for (size_t s = 0; s < plan->step_count; s++)
        execution->sites[s].batch = execution->batch.count;
    for (size_t a = 0; a < plan->order_count; a++) {
        const struct plan_step *step = &plan->steps[plan->order[a].step];
        float **values =
            plan->order[a].pass == PLAN_FORWARD ? execution->values : execution->backward_values;
        struct kernel_call *call = &execution->calls[a];
        call->output = values[step->node];
        call->labels = execution->batch.labels;
        for (size_t k = 0; k < step->input_count; k++)
            call->inputs[k] = values[step->inputs[k]];
    }
}

void *execution_take(struct execution *execution, size_t bytes, const char *what,
                     struct error *error)
{
    struct device *device = execution->device;
    if (!execution->block)
        return device->driver->allocate(device, bytes, what, error);
    char *taken = execution->block + execution->block_used;
    execution->block_used += memory_round_up(bytes);
    return taken;
}

static float *new_floats(struct execution *execution, size_t count, const char *what,
                         struct error *error)
{
    float *floats = execution_take(execution, count * sizeof *floats, what, error);
    if (floats)
        device_clear(execution->device, floats, count * sizeof *floats);
    return floats;
}

static bool allocate_training(struct execution *execution, struct error *error)
{
    size_t count = execution->plan->graph->learnable_floats;
    execution->gradients = new_floats(execution, count, "the gradients", error);
    if (!execution->gradients)
        return false;
    for (size_t i = 0; i < solver_state_count(&execution->solver); i++) {
        execution->state[i] = new_floats(execution, count, "the solver's state", error);
        if (!execution->state[i])
            return false;
    }
    return true;
}

static bool allocate(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    if (!execution->device->driver->computes_on_host && !execution_remote_reserve(execution, error))
        return false;
    execution->arena = execution_take(execution, plan->arena_bytes, "the activations", error);
    execution->sites =
        memory_new(plan->step_count, sizeof *execution->sites, "the execution", error);
    execution->calls =
        memory_new(plan->order_count, sizeof *execution->calls, "the execution", error);
    execution->values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    execution->backward_values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    return execution->arena && execution->sites && execution->calls && execution->values &&
           execution->backward_values &&
           (plan->mode == PLAN_INFERENCE || plan->frozen || allocate_training(execution, error));
}

/* What can only be set when all the memory is there. */
static bool set_up(struct execution *execution, uint64_t seed, struct error *error)
{
    const struct plan *plan = execution->plan;
    float *weights = weights_on_device(execution->weights, execution->device, error);
    if (!weights)
        return false;
    for (size_t s = 0; s < plan->step_count; s++)
        execution->sites[s] = plan->steps[s].site;
    for (size_t a = 0; a < plan->order_count; a++)
        set_call(execution, weights, a, seed);
    return execution->device->driver->computes_on_host || execution_remote_create(execution, error);
}

struct execution *execution_create_one(const struct plan *plan, struct device *device,
                                       struct weights *weights,
                                       const struct solver_settings *solver, uint64_t seed,
                                       struct execution *first, struct error *error)
{
    struct execution *execution = memory_new(1, sizeof *execution, "the execution", error);
    if (!execution)
        return NULL;
    execution->plan = plan;
    execution->device = device;
    execution->weights = weights;
    execution->first = first;
    if (solver)
        execution->solver = *solver;
    if (allocate(execution, error) && set_up(execution, seed, error))
        return execution;
    execution_free_one(execution);
    return NULL;
}

struct execution *execution_create(const struct plan *plan, struct device *device,
                                   struct weights *weights, const struct solver_settings *solver,
                                   uint64_t seed, struct error *error)
{
    struct execution *execution =
        execution_create_one(plan, device, weights, solver, seed, NULL, error);
    if (!execution || plan->ranks == 1 || execution_group_create(execution, seed, error))
        return execution;
    execution_free(execution);
    return NULL;
}

static void release_each(struct execution *execution)
{
    struct device *device = execution->device;
    device->driver->release(device, execution->arena);
    device->driver->release(device, execution->gradients);
    device->driver->release(device, execution->state[0]);
    device->driver->release(device, execution->state[1]);
}

void execution_free_one(struct execution *execution)
{
    if (execution->device->driver->computes_on_host)
        release_each(execution);
    else
        execution_remote_free(execution);
    free(execution->sites);
    free(execution->calls);
    free(execution->values);
    free(execution->backward_values);
    free(execution);
}

void execution_free(struct execution *execution)
{
    if (execution && execution->group)
        execution_group_free(execution);
    else if (execution)
        execution_free_one(execution);
}

void execution_set_batch(struct execution *execution, const struct execution_batch *batch)
{
    execution->batch = *batch;
    set_values(execution);
}

void execution_bind(struct execution *execution, const struct execution_batch *batch)
{
    if (execution->group)
        execution_group_bind(execution, batch);
    else if (execution->backend)
        execution_remote_bind(execution, batch);
    else
        execution_set_batch(execution, batch);
}

void execution_bind_device(struct execution *execution, const struct execution_batch *batch)
{
    execution_set_batch(execution, batch);
}

const struct execution_batch *execution_device_batch(const struct execution *execution)
{
    return &execution->batch;
}

void execution_set_profile(struct execution *execution, struct profile *profile)
{
    execution->profile = profile;
    for (size_t a = 0; a < execution->plan->order_count; a++)
        execution->calls[a].profile = profile;
}

/* --- running --- */

bool execution_can_run(const struct execution *execution, const struct node *node)
{
    if ((node->op->traits & OP_READS_LABELS) && !execution->batch.labels)
        return false;
    for (size_t k = 0; k < node->input_count; k++)
        if (!execution->values[node->inputs[k]])
            return false;
    return true;
}

static void run_kernel(struct execution *execution, size_t action)
{
    const struct plan_step *step = &execution->plan->steps[execution->plan->order[action].step];
    if (execution->plan->order[action].pass == PLAN_BACKWARD)
        step->kernel->backward(&execution->calls[action]);
    else
        step->kernel->forward(&execution->calls[action]);
}

static void run_action(struct execution *execution, size_t action)
{
    struct profile *profile = execution->profile;
    const struct plan_order_entry *what = &execution->plan->order[action];
    const size_t node = execution->plan->steps[what->step].node;
    const bool backward = what->pass == PLAN_BACKWARD, remote = execution->backend;
    const uint64_t start = profile_start(profile);
    if (profile && remote)
        execution_remote_stamp(execution, node, backward, true);
    run_kernel(execution, action);
    if (profile && remote)
        execution_remote_stamp(execution, node, backward, false);
    else if (profile)
        profile_add_node(profile, node, backward, clock_nanoseconds() - start);
}

static void end_pass(struct execution *execution)
{
    if (execution->profile && execution->backend)
        execution_remote_collect(execution);
}

static void set_iteration(struct execution *execution, uint64_t iteration)
{
    for (size_t a = 0; a < execution->plan->order_count; a++)
        execution->calls[a].iteration = iteration;
}

void execution_run_forward(struct execution *execution, uint64_t iteration)
{
    set_iteration(execution, iteration);
    for (size_t s = 0; s < execution->plan->step_count; s++) {
        const struct plan_step *step = &execution->plan->steps[s];
        if (step->kernel && execution_can_run(execution, step->site.node))
            run_action(execution, s);
    }
    end_pass(execution);
}

void execution_forward(struct execution *execution, uint64_t iteration)
{
    if (execution->group)
        execution_group_forward(execution, iteration);
    else if (execution->backend)
        execution_remote_forward(execution, iteration);
    else
        execution_run_forward(execution, iteration);
}

void execution_run_backward(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    for (size_t a = plan->step_count; a < plan->order_count; a++) {
        const struct plan_step *step = &plan->steps[plan->order[a].step];
        if (step->kernel && (step->backward || plan->order[a].pass == PLAN_RECOMPUTE))
            run_action(execution, a);
    }
    end_pass(execution);
}

void execution_backward(struct execution *execution)
{
    if (execution->group)
        execution_group_backward(execution);
    else
        execution_run_backward(execution);
}

void execution_run_update(struct execution *execution, float learning_rate, uint64_t step)
{
    float *weights = weights_on_device(execution->weights, execution->device, NULL);
    struct solver_update update = {
        .settings = execution->solver,
        .learning_rate = learning_rate,
        .step = step,
        .count = execution->plan->graph->learnable_floats,
        .weights = weights,
        .gradients = execution->gradients,
        .state = {execution->state[0], execution->state[1]},
    };
    execution->device->driver->update(execution->device, &update);
}

void execution_update(struct execution *execution, float learning_rate)
{
    const uint64_t start = profile_start(execution->profile);
    execution->solver_step++;
    if (execution->group)
        execution_group_update(execution, learning_rate);
    else if (execution->backend)
        execution_remote_update(execution, learning_rate);
    else
        execution_run_update(execution, learning_rate, execution->solver_step);
    if (execution->profile)
        profile_add_update(execution->profile, clock_nanoseconds() - start);
}

float execution_iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    if (execution->group)
        return execution_group_iterate(execution, iteration, learning_rate);
    if (execution->backend)
        return execution_remote_iterate(execution, iteration, learning_rate);
    execution_forward(execution, iteration);
    const float loss = execution_loss(execution);
    if (!isfinite(loss))
        return loss;
    execution_backward(execution);
    execution_update(execution, learning_rate);
    return loss;
}

void execution_wait(struct execution *execution)
{
    if (execution->group)
        execution_group_wait(execution);
    else if (execution->backend)
        execution->device->driver->backend->wait(execution->device);
}

/* --- results --- */

/* Of the images of the batch, of all cards, here. */
static const float *losses_of(const struct execution *execution, size_t loss)
{
    return execution->backend ? execution_remote_losses(execution, loss)
                              : execution->values[execution->plan->graph->losses[loss]];
}

static float mean_loss(const struct execution *execution, size_t loss)
{
    const float *losses = losses_of(execution, loss);
    const size_t count = execution->batch.count * execution->plan->ranks;
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += losses[i];
    return sum / (float)count;
}

float execution_main_loss(const struct execution *execution)
{
    return mean_loss(execution, 0);
}

float execution_loss(const struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    float total = 0;
    for (size_t i = 0; i < graph->loss_count; i++)
        total += graph->nodes[graph->losses[i]].attributes.loss.weight * mean_loss(execution, i);
    return total;
}

const float *execution_image_losses(const struct execution *execution)
{
    return losses_of(execution, 0);
}

const float *execution_device_output(const struct execution *execution)
{
    return execution->values[execution->plan->graph->output];
}

const float *execution_output(const struct execution *execution)
{
    if (execution->group)
        return execution_group_output(execution);
    return execution->backend ? execution_remote_output(execution)
                              : execution_device_output(execution);
}

const float *execution_device_gradients(const struct execution *execution)
{
    return execution->gradients;
}

const float *execution_parameter_gradients(const struct execution *execution)
{
    return execution->backend ? execution_remote_gradients(execution) : execution->gradients;
}

void execution_mix_gradients(struct execution *execution, const float *more, float scale)
{
    const size_t count = execution->plan->graph->learnable_floats;
    struct device *device = execution->device;
    if (execution->backend)
        device->driver->backend->mix(device, execution->gradients, more, scale, count);
    for (size_t i = 0; !execution->backend && i < count; i++)
        execution->gradients[i] = scale * (execution->gradients[i] + more[i]);
}

const float *execution_device_input_gradient(const struct execution *execution)
{
    return at(execution, execution->plan->gradients[0]);
}

float *execution_device_output_gradient(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    return plan->seeds_output_gradient ? at(execution, plan->gradients[plan->graph->output]) : NULL;
}

float *execution_solver_state(struct execution *execution, size_t which)
{
    return execution->backend ? execution_remote_state(execution, which) : execution->state[which];
}

bool execution_fetch(struct execution *execution, struct error *error)
{
    return !execution->backend || execution_remote_fetch(execution, error);
}

void execution_touch(struct execution *execution)
{
    if (execution->group)
        execution_group_touch(execution);
    else if (execution->backend)
        execution_remote_touch(execution);
}

uint64_t execution_solver_step(const struct execution *execution)
{
    return execution->solver_step;
}

void execution_set_solver_step(struct execution *execution, uint64_t step)
{
    execution->solver_step = step;
}

/* --- divergence --- */

static bool all_finite(const struct execution *execution, const float *values, size_t count)
{
    if (execution->backend)
        return execution_remote_finite(execution, values, count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool parameters_finite(const struct execution *execution, const struct kernel_call *call)
{
    const struct node *node = call->site->node;
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter =
            &execution->plan->graph->parameters[node->parameters[p]];
        if (!all_finite(execution, call->parameters[p], parameter->count))
            return false;
    }
    return true;
}

size_t execution_find_broken(struct execution *execution, uint64_t iteration, bool *in_weights)
{
    set_iteration(execution, iteration);
    for (size_t s = 0; s < execution->plan->step_count; s++) {
        const struct plan_step *step = &execution->plan->steps[s];
        const struct node *node = step->site.node;
        *in_weights = !parameters_finite(execution, &execution->calls[s]);
        if (!step->kernel || !execution_can_run(execution, node))
            continue;
        run_kernel(execution, s);
        size_t count = shape_count(node->output) * execution->batch.count;
        if (*in_weights || !all_finite(execution, execution->values[step->node], count))
            return s;
    }
    return PLAN_NONE;
}

bool execution_find_first_bad_layer(struct execution *execution, uint64_t iteration,
                                    struct bad_layer *layer)
{
    const size_t step = execution->group
                            ? execution_group_find_broken(execution, iteration, &layer->in_weights)
                            : execution_find_broken(execution, iteration, &layer->in_weights);
    if (step == PLAN_NONE)
        return false;
    memcpy(layer->node, execution->plan->steps[step].site.node->name, sizeof layer->node);
    return true;
}
