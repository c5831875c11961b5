/* Runs the passes of a plan. The arguments of all kernel calls are set up once, in execution order;
 * a new batch changes only the pointers to inputs and their views, the labels and the counts. */
#include "engine/execution/internal.h"

#include "base/float16.h"
#include "base/host/memory_room.h"
#include "base/memory.h"
#include "engine/ops/op.h"
#include "engine/plan/fallback.h"

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
        call->parameters[p] = int8_weights_at(execution, parameter, weights);
        call->parameter_gradients[p] = parameter->learnable && execution->gradients
                                           ? execution->gradients + parameter->offset
                                           : NULL;
    }
}

static void set_norm_parameters(const struct execution *execution, const float *weights,
                                struct kernel_call *call)
{
    const struct graph *graph = execution->plan->graph;
    for (size_t i = 0; i < call->site->fused_norm_count; i++) {
        const struct fused_norm *norm = &call->site->fused_norms[i];
        for (size_t p = 0; p < NORM_PARAMETERS; p++)
            call->norm_parameters[i][p] =
                weights + graph->parameters[norm->node->parameters[p]].offset + norm->first_channel;
    }
}

static void set_call(struct execution *execution, float *weights, size_t index, uint64_t seed)
{
    const struct plan *plan = execution->plan;
    const enum plan_pass pass = plan->order.entries[index].pass;
    const size_t s = plan->order.entries[index].step;
    const struct plan_step *step = &plan->steps[s];
    struct kernel_call *call = &execution->calls[index];
    *call = (struct kernel_call){
        .site = &execution->sites[s],
        .output_gradient = at(execution, plan->arena.gradients[step->node]),
        .prepared =
            execution->derived.prepared ? execution->derived.prepared + step->prepared : NULL,
        .saved = at(execution, pass == PLAN_FORWARD ? step->saved : step->backward_saved),
        .workspace = execution->arena + plan->arena.workspace,
        .workspace_bytes = plan->forecast.workspace,
        .seed = seed,
        .node_number = step->node,
        .recomputing = pass == PLAN_RECOMPUTE,
        .pool = execution->device->pool,
        .context = execution->device->state};
    memcpy(call->accumulate, step->accumulate, sizeof call->accumulate);
    for (size_t k = 0; k < step->input_count; k++)
        call->input_gradients[k] = step->site.input_gradient[k]
                                       ? at(execution, plan->arena.gradients[step->inputs[k]])
                                       : NULL;
    set_parameters(execution, weights, call);
    set_norm_parameters(execution, weights, call);
}

/* Sets values[] (by node) to the address of each node's output. Inputs, and views of inputs, are in
 * the bound batch. */
static void find_values(struct execution *execution, const size_t *offsets, float **values)
{
    const struct plan *plan = execution->plan;
    const struct graph *graph = plan->graph;
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == &op_input)
            values[n] = (float *)(n == 0 ? execution->batch.images : execution->batch.targets);
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        float *output = at(execution, offsets[step->node]);
        values[step->node] = output ? output : values[step->inputs[0]];
    }
}

/* Writes a value unless it is there already. The threads of the pool read the execution, its calls
 * and its sites; unchanged memory stays in the caches of all. */
static void set_if_other(void *place, const void *value, size_t bytes)
{
    if (memcmp(place, value, bytes) != 0)
        memcpy(place, value, bytes);
}

/* Sets which steps run; returns whether that has changed. */
static bool set_runs(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    bool changed = false;
    for (size_t s = 0; s < plan->step_count; s++) {
        const struct plan_step *step = &plan->steps[s];
        const bool runs = step->kernel && execution_can_run(execution, step->site.node);
        if (execution->runs[s] != runs) {
            execution->runs[s] = runs;
            changed = true;
        }
    }
    return changed;
}

static void set_call_values(struct execution *execution, size_t index)
{
    const struct plan_order_entry *entry = &execution->plan->order.entries[index];
    const struct plan_step *step = &execution->plan->steps[entry->step];
    const struct execution_batch *batch = &execution->batch;
    float *const *values =
        entry->pass == PLAN_FORWARD ? execution->values : execution->backward_values;
    struct kernel_call *call = &execution->calls[index];
    set_if_other(&call->output, &values[step->node], sizeof call->output);
    set_if_other(&call->labels, &batch->labels, sizeof call->labels);
    set_if_other(&call->soft_targets, &batch->soft_targets, sizeof call->soft_targets);
    set_if_other(&call->class_weights, &batch->class_weights, sizeof call->class_weights);
    for (size_t k = 0; k < step->input_count; k++) {
        const float *input =
            step->copies[k] == PLAN_NONE ? values[step->inputs[k]] : at(execution, step->copies[k]);
        set_if_other(&call->inputs[k], &input, sizeof input);
    }
}

/* Sets the pointers and counts that depend on the batch; returns whether the steps that run have
 * changed. */
static bool set_values(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    find_values(execution, plan->arena.values, execution->values);
    find_values(execution, plan->arena.backward_values, execution->backward_values);
    for (size_t s = 0; s < plan->step_count; s++)
        set_if_other(&execution->sites[s].batch, &execution->batch.count, sizeof(size_t));
    for (size_t a = 0; a < plan->order.count; a++)
        set_call_values(execution, a);
    return set_runs(execution);
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

void execution_move_gradients(struct execution *execution, float *to)
{
    struct device *device = execution->device;
    const struct plan *plan = execution->plan;
    memcpy(to, execution->gradients, plan->subtrees * plan->graph->learnable_floats * sizeof *to);
    for (size_t a = 0; a < plan->order.count; a++) {
        float **gradients = execution->calls[a].parameter_gradients;
        for (size_t p = 0; p < NODE_MAX_PARAMETERS; p++)
            if (gradients[p])
                gradients[p] = to + (gradients[p] - execution->gradients);
    }
    device->driver->release(device, execution->gradients);
    execution->gradients = to;
}

static bool allocate_training(struct execution *execution, struct error *error)
{
    size_t count = execution->plan->graph->learnable_floats;
    execution->gradients =
        new_floats(execution, count * execution->plan->subtrees, "the gradients", error);
    if (!execution->gradients)
        return false;
    for (size_t i = 0; i < solver_state_count(&execution->solver); i++) {
        execution->state[i] = new_floats(execution, count, "the solver's state", error);
        if (!execution->state[i])
            return false;
    }
    return true;
}

/* Checks that an inference fits into memory. A training was checked as a whole, with its data. */
static bool check_room(const struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    return plan->mode != PLAN_INFERENCE || !execution->device->driver->computes_on_host ||
           memory_room_check("the activations", plan->arena.bytes + plan->prepared_bytes, error);
}

static bool allocate(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    if (!check_room(execution, error) ||
        (execution->memory->reserve && !execution->memory->reserve(execution, error)))
        return false;
    execution->arena = execution_take(execution, plan->arena.bytes, "the activations", error);
    if (plan->prepared_bytes > 0)
        execution->derived.prepared =
            execution_take(execution, plan->prepared_bytes, "the packed weights", error);
    if (plan->prepared_bytes > 0 && !execution->derived.prepared)
        return false;
    execution->sites =
        memory_new(plan->step_count, sizeof *execution->sites, "the execution", error);
    execution->chains =
        memory_new(plan->step_count, sizeof *execution->chains, "the execution", error);
    execution->jobs = memory_new(plan->step_count, sizeof *execution->jobs, "the execution", error);
    execution->runs = memory_new(plan->step_count, sizeof *execution->runs, "the execution", error);
    execution->calls =
        memory_new(plan->order.count, sizeof *execution->calls, "the execution", error);
    execution->values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    execution->backward_values =
        memory_new(plan->graph->node_count, sizeof *execution->values, "the execution", error);
    return execution->arena && execution->sites && execution->chains && execution->jobs &&
           execution->runs && execution->calls && execution->values && execution->backward_values &&
           (plan->mode == PLAN_INFERENCE || plan->frozen || allocate_training(execution, error));
}

/* Sets up the calls, which need all addresses. */
static bool set_up(struct execution *execution, uint64_t seed, struct error *error)
{
    const struct plan *plan = execution->plan;
    const struct execution_memory *memory = execution->memory;
    const struct execution_communicator *communicator = execution->communicator;
    float *weights = weights_on_device(execution->weights, execution->device, error);
    if (!weights || !int8_weights_create(execution, error))
        return false;
    for (size_t s = 0; s < plan->step_count; s++)
        execution->sites[s] = plan->steps[s].site;
    for (size_t a = 0; a < plan->order.count; a++)
        set_call(execution, weights, a, seed);
    return (!memory->create || memory->create(execution, error)) &&
           (!communicator || communicator->create(execution, seed, error));
}

struct execution *execution_make(const struct execution_memory *memory,
                                 const struct execution_communicator *communicator,
                                 const struct plan *plan, struct device *device,
                                 struct weights *weights, const struct solver_settings *solver,
                                 uint64_t seed, struct execution *rank0, struct error *error)
{
    struct execution *execution = memory_new(1, sizeof *execution, "the execution", error);
    if (!execution)
        return NULL;
    execution->memory = memory;
    execution->communicator = communicator;
    execution->plan = plan;
    execution->device = device;
    execution->weights = weights;
    execution->rank0 = rank0;
    if (solver)
        execution->solver = *solver;
    if (allocate(execution, error) && set_up(execution, seed, error))
        return execution;
    execution_free(execution);
    return NULL;
}

void execution_free(struct execution *execution)
{
    if (!execution)
        return;
    const struct execution_communicator *communicator = execution->communicator;
    if (!communicator || communicator->stop(execution)) {
        execution->memory->free(execution);
        if (communicator)
            communicator->free(execution);
    }
    int8_weights_free(execution);
    free(execution->sites);
    free(execution->chains);
    free(execution->jobs);
    free(execution->runs);
    free(execution->calls);
    free(execution->values);
    free(execution->backward_values);
    free(execution);
}

bool execution_same_arrays(const struct execution_batch *a, const struct execution_batch *b)
{
    return a->count == b->count && a->images == b->images && a->labels == b->labels &&
           a->targets == b->targets && a->soft_targets == b->soft_targets &&
           a->class_weights == b->class_weights;
}

void execution_set_batch(struct execution *execution, const struct execution_batch *batch)
{
    const struct execution_batch before = execution->batch;
    set_if_other(&execution->batch, batch, sizeof *batch);
    if (execution_same_arrays(&before, batch))
        return;
    const bool new_size = before.count != batch->count;
    if (set_values(execution) || new_size)
        chains_set(execution, new_size);
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

/* Prepares what kernels compute from the weights alone, if the weights have changed. */
static void prepare(struct execution *execution)
{
    const struct plan *plan = execution->plan;
    int8_weights_round(execution);
    if (!execution->derived.prepared ||
        execution->derived.prepared_version == execution->weights->version)
        return;
    for (size_t s = 0; s < plan->step_count; s++)
        if (plan->steps[s].kernel && plan->steps[s].kernel->prepare)
            plan->steps[s].kernel->prepare(&execution->calls[s]);
    execution->derived.prepared_version = execution->weights->version;
}

/* Makes the copy of an input in the layout that the kernel of a step reads. */
static void copy_input(struct execution *execution, const struct plan_step *step, size_t k)
{
    const struct plan *plan = execution->plan;
    struct device *device = execution->device;
    const struct quantization quantization = plan->quantizations[step->inputs[k]];
    const struct tensor_layout from = plan->layouts[step->inputs[k]], to = step->site.layouts[k];
    const struct shape shape = step->site.inputs[k];
    const size_t batch = execution->batch.count;
    const void *values = execution->values[step->inputs[k]];
    void *copy = at(execution, step->copies[k]);
    if (to.u8)
        device->driver->quantize(device, quantization, to, shape, batch, values, copy);
    else if (from.u8)
        device->driver->dequantize(device, quantization, from, shape, batch, values, copy);
    else
        device->driver->copy_to_plain(device, from, shape, batch, values, copy);
}

static void copy_inputs(struct execution *execution, const struct plan_step *step)
{
    for (size_t k = 0; k < step->input_count; k++)
        if (step->copies[k] != PLAN_NONE)
            copy_input(execution, step, k);
}

static void run_pass(const struct execution *execution, const struct plan_step *step,
                     enum plan_pass pass, const struct kernel_call *call)
{
    if (step->by_blocks)
        image_blocks_run(execution, step, pass, call);
    else if (pass == PLAN_BACKWARD)
        step->kernel->backward(call);
    else
        step->kernel->forward(call);
}

/* Runs a kernel in a plan of bf16, and rounds what step->rounding says it does not round itself. */
static void run_rounded(const struct execution *execution, const struct plan_step *step,
                        enum plan_pass pass, struct kernel_call call)
{
    rounding_copy_operands(execution, step, &call);
    run_pass(execution, step, pass, &call);
    rounding_round_results(execution, step, pass, &call);
}

static void run_kernel(struct execution *execution, size_t index)
{
    const struct plan_order_entry *entry = &execution->plan->order.entries[index];
    const struct plan_step *step = &execution->plan->steps[entry->step];
    copy_inputs(execution, step);
    if (execution->fallback && fallback_leaves_device(execution->device->driver, step))
        host_fallback_run(execution->fallback, entry, &execution->calls[index]);
    else if (execution->plan->bf16)
        run_rounded(execution, step, entry->pass, execution->calls[index]);
    else
        run_pass(execution, step, entry->pass, &execution->calls[index]);
}

static void run_call(struct execution *execution, size_t index)
{
    const struct plan_order_entry *entry = &execution->plan->order.entries[index];
    const struct execution_memory *memory = execution->memory;
    if (!execution->profile) {
        run_kernel(execution, index);
        return;
    }
    memory->begin_call(execution);
    run_kernel(execution, index);
    memory->end_call(execution, execution->plan->steps[entry->step].node,
                     entry->pass == PLAN_BACKWARD);
}

static void end_pass(struct execution *execution)
{
    if (execution->profile && execution->memory->end_pass)
        execution->memory->end_pass(execution);
}

/* Sets the iteration of all calls except those of chains, which use no random numbers: unchanged
 * calls stay in the cache of every thread. */
static void set_iteration(struct execution *execution, uint64_t iteration)
{
    const struct plan *plan = execution->plan;
    for (size_t a = 0; a < plan->order.count; a++)
        if (a < plan->step_count && execution->chains[a].is_job)
            a = execution->chains[a].end - 1;
        else
            execution->calls[a].iteration = iteration;
}

void execution_run_forward(struct execution *execution, uint64_t iteration)
{
    set_iteration(execution, iteration);
    prepare(execution);
    if (execution->plan->mode == PLAN_TRAINING) /* running statistics change */
        weights_mark_updated(execution->weights);
    for (size_t s = 0; s < execution->plan->step_count;) {
        if (execution->chains[s].is_job && !execution->profile) {
            s = chains_run(execution, s);
            continue;
        }
        if (execution->runs[s])
            run_call(execution, s);
        s++;
    }
    end_pass(execution);
}

void execution_run_backward_steps(struct execution *execution,
                                  void (*done)(struct execution *execution, size_t entry))
{
    const struct plan *plan = execution->plan;
    for (size_t a = plan->step_count; a < plan->order.count; a++) {
        const struct plan_step *step = &plan->steps[plan->order.entries[a].step];
        if (step->kernel && (step->backward || plan->order.entries[a].pass == PLAN_RECOMPUTE))
            run_call(execution, a);
        if (done)
            done(execution, a);
    }
    end_pass(execution);
}

void execution_run_backward(struct execution *execution)
{
    execution_run_backward_steps(execution, NULL);
}

/* Updates each group that is not frozen by itself. */
static void update_groups(const struct execution *execution, const struct solver_update *whole)
{
    for (size_t g = 0; g < execution->groups->count; g++) {
        const struct parameter_group *group = &execution->groups->groups[g];
        struct solver_update update = *whole;
        update.learning_rate = whole->learning_rate * group->rate;
        update.step = whole->step - group->steps_before;
        update.count = group->count;
        update.weights = whole->weights + group->first;
        update.gradients = whole->gradients + group->first;
        for (size_t i = 0; i < 2; i++)
            update.state[i] = whole->state[i] ? whole->state[i] + group->first : NULL;
        if (group->rate > 0)
            execution->device->driver->update(execution->device, &update);
    }
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
    if (execution->groups)
        update_groups(execution, &update);
    else
        execution->device->driver->update(execution->device, &update);
    weights_mark_updated(execution->weights);
}

/* --- divergence --- */

static bool parameters_finite(const struct execution *execution, const struct kernel_call *call)
{
    const struct node *node = call->site->node;
    for (size_t p = 0; p < node->parameter_count; p++) {
        const struct parameter *parameter =
            &execution->plan->graph->parameters[node->parameters[p]];
        if (!execution->memory->all_finite(execution, call->parameters[p], parameter->count))
            return false;
    }
    return true;
}

static bool bf16_finite(const uint16_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(bf16_to_float(values[i])))
            return false;
    return true;
}

/* Returns whether the value of a step is finite for all images of the batch. The planes of a part
 * of a concatenation are one range of each row of the whole, or of each image. */
static bool value_finite(const struct execution *execution, const struct plan_step *step)
{
    const struct shape shape = step->site.node->output;
    const struct tensor_layout layout = execution->plan->layouts[step->node];
    if (layout.u8)
        return true;
    const struct tensor_layout own = {.block = layout.block};
    const bool part = layout.channels > 0;
    const size_t image = tensor_image(layout, shape), all = image * execution->batch.count;
    const size_t next = !part ? all : layout.by_rows ? tensor_row(layout, shape) : image;
    const size_t count = part ? tensor_planes(own, shape) * tensor_plane(layout, shape) : all;
    const char *values = (const char *)execution->values[step->node];
    for (size_t at = 0; at < all; at += next) {
        const char *from = values + at * tensor_value_bytes(layout);
        if (!(layout.bf16 ? bf16_finite((const uint16_t *)from, count)
                          : execution->memory->all_finite(execution, (const float *)from, count)))
            return false;
    }
    return true;
}

size_t execution_run_until_not_finite(struct execution *execution, uint64_t iteration,
                                      bool *in_weights)
{
    set_iteration(execution, iteration);
    prepare(execution);
    for (size_t s = 0; s < execution->plan->step_count; s++) {
        const struct plan_step *step = &execution->plan->steps[s];
        const struct node *node = step->site.node;
        *in_weights = !parameters_finite(execution, &execution->calls[s]);
        if (!step->kernel || !execution_can_run(execution, node))
            continue;
        run_kernel(execution, s);
        if (*in_weights || !value_finite(execution, step))
            return s;
    }
    return PLAN_NONE;
}
