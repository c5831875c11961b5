#include "engine/execution.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/ops/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct execution {
    const struct plan *plan;
    struct device *device;
    struct weights *weights;
    struct solver_settings solver;
    uint64_t solver_step;
    char *arena;
    float *gradients; /* of the parameters, laid out as the learnable weights */
    float *state[2];
    struct kernel_site *sites; /* by step: the plan's, with the batch that is bound */
    struct kernel_call *calls; /* by action of the plan: all but values, labels and iteration is set
                                  once */
    float **values;            /* by node: what the forward pass computed */
    float **late_values;       /* by node: after it */
    struct execution_batch batch;
    struct profile *profile;
};

/* --- creation --- */

static float *at(const struct execution *execution, size_t offset)
{
    return offset == PLAN_NOWHERE ? NULL : (float *)(execution->arena + offset);
}

static void set_parameters(struct execution *execution, struct kernel_call *call)
{
    const struct graph *graph = execution->plan->graph;
    const struct node *node = call->site->node;
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter = &graph->parameters[node->parameters[p]];
        call->parameters[p] = execution->weights->values + parameter->offset;
        call->parameter_gradients[p] = parameter->learnable && execution->gradients
                                           ? execution->gradients + parameter->offset
                                           : NULL;
    }
}

static void set_call(struct execution *execution, size_t action, uint64_t seed)
{
    const struct plan *plan = execution->plan;
    const enum plan_pass pass = plan->actions[action].pass;
    const size_t s = plan->actions[action].step;
    const struct plan_step *step = &plan->steps[s];
    struct kernel_call *call = &execution->calls[action];
    *call = (struct kernel_call){
        .site = &execution->sites[s],
        .output_gradient = at(execution, plan->gradients[step->node]),
        .saved = at(execution, pass == PLAN_FORWARD ? step->saved : step->late_saved),
        .workspace = execution->arena + plan->workspace,
        .seed = seed,
        .node_number = step->node,
        .again = pass == PLAN_AGAIN,
        .pool = execution->device->pool};
    memcpy(call->accumulate, step->accumulate, sizeof call->accumulate);
    const struct node *node = step->site.node;
    for (size_t k = 0; k < node->input_count; k++)
        call->input_gradients[k] =
            step->site.input_gradient[k] ? at(execution, plan->gradients[node->inputs[k]]) : NULL;
    set_parameters(execution, call);
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
        values[step->node] = own ? own : values[step->site.node->inputs[0]];
    }
}

static void set_values(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    find_values(execution, plan->values, execution->values);
    find_values(execution, plan->late_values, execution->late_values);
    for (size_t s = 0; s < plan->step_count; s++)
        execution->sites[s].batch = execution->batch.count;
    for (size_t a = 0; a < plan->action_count; a++) {
        const struct plan_step *step = &plan->steps[plan->actions[a].step];
        float **values =
            plan->actions[a].pass == PLAN_FORWARD ? execution->values : execution->late_values;
        struct kernel_call *call = &execution->calls[a];
        call->output = values[step->node];
        call->labels = execution->batch.labels;
        for (size_t k = 0; k < step->site.node->input_count; k++)
            call->inputs[k] = values[step->site.node->inputs[k]];
    }
}

static float *new_floats(struct execution *execution, size_t count, const char *what,
                         struct error *error)
{
    struct device *device = execution->device;
    float *floats = device->driver->allocate(device, count * sizeof *floats, what, error);
    if (floats)
        memset(floats, 0, count * sizeof *floats);
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
    struct device *device = execution->device;
    execution->arena =
        device->driver->allocate(device, plan->arena_bytes, "the activations", error);
    execution->sites =
        memory_new(plan->step_count, sizeof *execution->sites, "the execution", error);
    execution->calls =
        memory_new(plan->action_count, sizeof *execution->calls, "the execution", error);
    execution->values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    execution->late_values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    return execution->arena && execution->sites && execution->calls && execution->values &&
           execution->late_values &&
           (plan->mode == PLAN_INFERENCE || plan->frozen || allocate_training(execution, error));
}

struct execution *execution_create(const struct plan *plan, struct device *device,
                                   struct weights *weights, const struct solver_settings *solver,
                                   uint64_t seed, struct error *error)
{
    struct execution *execution = memory_new(1, sizeof *execution, "the execution", error);
    if (!execution)
        return NULL;
    execution->plan = plan;
    execution->device = device;
    execution->weights = weights;
    if (solver)
        execution->solver = *solver;
    if (!allocate(execution, error)) {
        execution_free(execution);
        return NULL;
    }
    for (size_t s = 0; s < plan->step_count; s++)
        execution->sites[s] = plan->steps[s].site;
    for (size_t a = 0; a < plan->action_count; a++)
        set_call(execution, a, seed);
    return execution;
}

void execution_free(struct execution *execution)
{
    if (!execution)
        return;
    struct device *device = execution->device;
    device->driver->release(device, execution->arena);
    device->driver->release(device, execution->gradients);
    device->driver->release(device, execution->state[0]);
    device->driver->release(device, execution->state[1]);
    free(execution->sites);
    free(execution->calls);
    free(execution->values);
    free(execution->late_values);
    free(execution);
}

void execution_bind(struct execution *execution, const struct execution_batch *batch)
{
    execution->batch = *batch;
    set_values(execution);
}

void execution_set_profile(struct execution *execution, struct profile *profile)
{
    execution->profile = profile;
    for (size_t a = 0; a < execution->plan->action_count; a++)
        execution->calls[a].profile = profile;
}

/* --- running --- */

/* A loss without its labels or targets cannot be computed: a prediction. */
static bool can_run(const struct execution *execution, const struct node *node)
{
    if ((node->op->traits & OP_READS_LABELS) && !execution->batch.labels)
        return false;
    for (size_t k = 0; k < node->input_count; k++)
        if (!execution->values[node->inputs[k]])
            return false;
    return true;
}

static void run_action(struct execution *execution, size_t action)
{
    const struct plan_step *step = &execution->plan->steps[execution->plan->actions[action].step];
    const struct kernel_call *call = &execution->calls[action];
    const bool backward = execution->plan->actions[action].pass == PLAN_BACKWARD;
    uint64_t start = profile_start(execution->profile);
    if (backward)
        step->kernel->backward(call);
    else
        step->kernel->forward(call);
    if (execution->profile)
        profile_add_node(execution->profile, step->node, backward, clock_nanoseconds() - start);
}

static void set_iteration(struct execution *execution, uint64_t iteration)
{
    for (size_t a = 0; a < execution->plan->action_count; a++)
        execution->calls[a].iteration = iteration;
}

void execution_forward(struct execution *execution, uint64_t iteration)
{
    set_iteration(execution, iteration);
    for (size_t s = 0; s < execution->plan->step_count; s++) {
        const struct plan_step *step = &execution->plan->steps[s];
        if (step->kernel && can_run(execution, step->site.node))
            run_action(execution, s);
    }
}

void execution_backward(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    for (size_t a = plan->step_count; a < plan->action_count; a++) {
        const struct plan_step *step = &plan->steps[plan->actions[a].step];
        if (step->kernel && (step->backward || plan->actions[a].pass == PLAN_AGAIN))
            run_action(execution, a);
    }
}

void execution_update(struct execution *execution, float learning_rate)
{
    struct solver_update update = {
        .settings = execution->solver,
        .learning_rate = learning_rate,
        .step = ++execution->solver_step,
        .count = execution->plan->graph->learnable_floats,
        .weights = execution->weights->values,
        .gradients = execution->gradients,
        .state = {execution->state[0], execution->state[1]},
    };
    uint64_t start = profile_start(execution->profile);
    execution->device->driver->update(execution->device, &update);
    if (execution->profile)
        profile_add_update(execution->profile, clock_nanoseconds() - start);
}

/* --- results --- */

static float mean_loss(const struct execution *execution, size_t loss)
{
    const float *losses = execution->values[loss];
    float sum = 0;
    for (size_t i = 0; i < execution->batch.count; i++)
        sum += losses[i];
    return sum / (float)execution->batch.count;
}

float execution_main_loss(const struct execution *execution)
{
    return mean_loss(execution, execution->plan->graph->losses[0]);
}

float execution_loss(const struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    float total = 0;
    for (size_t i = 0; i < graph->loss_count; i++)
        total += graph->nodes[graph->losses[i]].attributes.loss.weight *
                 mean_loss(execution, graph->losses[i]);
    return total;
}

const float *execution_image_losses(const struct execution *execution)
{
    return execution->values[execution->plan->graph->losses[0]];
}

const float *execution_output(const struct execution *execution)
{
    return execution->values[execution->plan->graph->output];
}

const float *execution_parameter_gradients(const struct execution *execution)
{
    return execution->gradients;
}

void execution_mix_gradients(struct execution *execution, const float *more, float scale)
{
    for (size_t i = 0; i < execution->plan->graph->learnable_floats; i++)
        execution->gradients[i] = scale * (execution->gradients[i] + more[i]);
}

const float *execution_input_gradient(const struct execution *execution)
{
    return at(execution, execution->plan->gradients[0]);
}

float *execution_output_gradient(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    return plan->seeds_output ? at(execution, plan->gradients[plan->graph->output]) : NULL;
}

float *execution_solver_state(struct execution *execution, size_t which)
{
    return execution->state[which];
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

static bool all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static bool parameters_finite(const struct execution *execution, const struct node *node)
{
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter =
            &execution->plan->graph->parameters[node->parameters[p]];
        if (!all_finite(execution->weights->values + parameter->offset, parameter->count))
            return false;
    }
    return true;
}

bool execution_find_culprit(struct execution *execution, uint64_t iteration,
                            struct culprit *culprit)
{
    set_iteration(execution, iteration);
    for (size_t s = 0; s < execution->plan->step_count; s++) {
        const struct plan_step *step = &execution->plan->steps[s];
        const struct node *node = step->site.node;
        bool weights_wrong = !parameters_finite(execution, node);
        if (!step->kernel || !can_run(execution, node))
            continue;
        run_action(execution, s);
        size_t count = shape_count(node->output) * execution->batch.count;
        if (!weights_wrong && all_finite(execution->values[step->node], count))
            continue;
        memcpy(culprit->node, node->name, sizeof culprit->node);
        culprit->in_weights = weights_wrong;
        return true;
    }
    return false;
}
