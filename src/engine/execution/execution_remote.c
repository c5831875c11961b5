/* An execution on a device with memory of its own.
 *
 * Memory: one block there holds what the plan says and the batch that is bound; weights have a copy
 * of their own, shared by the executions that use them. Here lie, in memory that the device copies
 * into without a detour, the losses of every image and the output.
 *
 * Time: the device is always a little behind. An iteration is asked for as a whole, forward,
 * backward and update; what is waited for is only the mark behind the losses, while the rest goes
 * on. So that a loss that is no number changes nothing, the device judges it too, and holds the
 * update back. From its second time on an iteration of a full batch (in inference, the forward
 * pass) is one recording, replayed: a batch of the same size in the same place needs the same work,
 * and what differs, the iteration's number and the learning rate, lies in the device's memory. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"
#include "engine/execution/execution_inside.h"
#include "engine/ops/op.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_FLOATS = 1 << 18 }; /* that are brought here at once, to be looked at */

struct stamped {
    size_t node;
    bool backward;
};

struct execution_remote {
    struct execution_batch bound; /* where batches are sent to */
    struct device_staging *stage;
    float *losses[DEVICE_LOSSES];     /* here; of the batch's images, of all cards */
    float *gathered[DEVICE_LOSSES];   /* the same there; NULL: there is one card, whose losses lie
                                         where they were computed */
    float *output;                    /* here */
    float *gradients;                 /* here; NULL until somebody asks for them */
    float *state[2];                  /* here */
    struct device_buffer *mirrors[2]; /* of them */
    struct device_event *losses_known;
    struct device_recording *recording;
    struct execution_batch recorded; /* the batch of the recording, */
    bool can_record, warm;           /* and whether there can be one; one iteration was done */
    struct iteration_values moment;
    struct stamped *stamps; /* with a profile: what was measured in this pass */
    size_t stamp_count;
};

static const struct device_backend *device_of(const struct execution *execution)
{
    return execution->device->driver->backend;
}

/* --- sizes --- */

static size_t image_bytes(const struct plan *plan)
{
    return plan->batch * shape_count(plan->graph->nodes[0].output) * sizeof(float);
}

/* Of the second input, which targets are bound to; 0: there is none. */
static size_t target_bytes(const struct plan *plan)
{
    for (size_t n = 1; n < plan->graph->node_count; n++)
        if (plan->graph->nodes[n].op == &op_input)
            return plan->batch * shape_count(plan->graph->nodes[n].output) * sizeof(float);
    return 0;
}

static size_t label_bytes(const struct plan *plan)
{
    return plan->batch * sizeof(int32_t);
}

static size_t output_floats(const struct plan *plan)
{
    return plan->batch * shape_count(plan->graph->nodes[plan->graph->output].output);
}

static size_t batch_bytes(const struct plan *plan)
{
    return memory_round_up(image_bytes(plan)) + memory_round_up(target_bytes(plan)) +
           memory_round_up(label_bytes(plan));
}

/* Of a loss of all cards; 0: there is one. */
static size_t gathered_bytes(const struct plan *plan)
{
    return plan->ranks > 1 ? plan->ranks * plan->batch * sizeof(float) : 0;
}

static size_t block_bytes(const struct execution *execution)
{
    const struct plan *plan = execution->plan;
    const size_t weights = memory_round_up(plan->graph->learnable_floats * sizeof(float));
    size_t arrays = 0;
    if (plan->mode == PLAN_TRAINING && !plan->frozen)
        arrays = 1 + solver_state_count(&execution->solver);
    return memory_round_up(plan->arena_bytes) + arrays * weights + batch_bytes(plan) +
           plan->graph->loss_count * memory_round_up(gathered_bytes(plan));
}

/* --- creation --- */

bool execution_remote_reserve(struct execution *execution, struct error *error)
{
    struct device *device = execution->device;
    const size_t bytes = block_bytes(execution);
    execution->block = device->driver->allocate(device, bytes, "the network", error);
    if (execution->block)
        device_clear(device, execution->block, bytes);
    return execution->block;
}

static bool make_losses(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    struct execution_remote *remote = execution->backend;
    assert(plan->graph->loss_count <= DEVICE_LOSSES);
    for (size_t i = 0; i < plan->graph->loss_count; i++) {
        remote->losses[i] = device_of(execution)->allocate_pinned(
            execution->device, plan->ranks * plan->batch * sizeof(float), "the losses", error);
        if (!remote->losses[i])
            return false;
        if (plan->ranks > 1)
            remote->gathered[i] =
                execution_take(execution, gathered_bytes(plan), "the losses", error);
    }
    return true;
}

static bool make_mirrors(struct execution *execution, struct error *error)
{
    const size_t count = execution->plan->graph->learnable_floats;
    struct execution_remote *remote = execution->backend;
    for (size_t i = 0; i < 2 && execution->state[i]; i++) {
        remote->state[i] = execution->first
                               ? execution->first->backend->state[i]
                               : memory_new(count, sizeof(float), "the solver's state", error);
        if (!remote->state[i])
            return false;
        remote->mirrors[i] = device_buffer_borrow(execution->device, remote->state[i],
                                                  execution->state[i], count, error);
        if (!remote->mirrors[i])
            return false;
    }
    return true;
}

static bool make_batch(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    struct execution_remote *remote = execution->backend;
    remote->bound.images = execution_take(execution, image_bytes(plan), "the batch", error);
    remote->bound.targets = execution_take(execution, target_bytes(plan), "the batch", error);
    remote->bound.labels = execution_take(execution, label_bytes(plan), "the batch", error);
    remote->stage = device_of(execution)->staging_create(execution->device, batch_bytes(plan),
                                                         plan->mode == PLAN_TRAINING, error);
    return remote->stage;
}

bool execution_remote_create(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    struct execution_remote *remote = memory_new(1, sizeof *remote, "the execution", error);
    execution->backend = remote;
    if (!remote || !make_batch(execution, error) || !make_losses(execution, error) ||
        !make_mirrors(execution, error))
        return false;
    remote->can_record = true;
    remote->losses_known = device_of(execution)->event_create(execution->device, error);
    if (!remote->losses_known)
        return false;
    remote->output =
        memory_new_aligned(output_floats(plan), sizeof(float), "the network's output", error);
    remote->stamps = memory_new(plan->order_count, sizeof *remote->stamps, "the execution", error);
    return remote->output && remote->stamps && device_check(execution->device, error);
}

void execution_remote_free(struct execution *execution)
{
    struct device *device = execution->device;
    struct execution_remote *remote = execution->backend;
    const struct device_backend *does = device_of(execution);
    does->wait(device);
    for (size_t i = 0; remote && i < DEVICE_LOSSES; i++)
        does->release_pinned(device, remote->losses[i]);
    for (size_t i = 0; remote && i < 2; i++) {
        device_buffer_free(remote->mirrors[i]);
        if (!execution->first)
            free(remote->state[i]);
    }
    if (remote) {
        does->recording_free(device, remote->recording);
        does->event_free(device, remote->losses_known);
        does->staging_free(device, remote->stage);
        free(remote->gradients);
        free(remote->output);
        free(remote->stamps);
        free(remote);
    }
    device->driver->release(device, execution->block);
}

/* --- a batch --- */

void execution_remote_bind(struct execution *execution, const struct execution_batch *batch)
{
    const struct plan *plan = execution->plan;
    const struct execution_batch *bound = &execution->backend->bound;
    struct execution_batch there = {.images = bound->images, .count = batch->count};
    struct batch_part parts[BATCH_PARTS] = {
        {(void *)bound->images, batch->images, image_bytes(plan) / plan->batch * batch->count}};
    if (batch->targets && target_bytes(plan)) {
        there.targets = bound->targets;
        parts[1] = (struct batch_part){(void *)bound->targets, batch->targets,
                                       target_bytes(plan) / plan->batch * batch->count};
    }
    if (batch->labels) {
        there.labels = bound->labels;
        parts[2] = (struct batch_part){(void *)bound->labels, batch->labels,
                                       batch->count * sizeof *batch->labels};
    }
    device_of(execution)->send(execution->device, execution->backend->stage, parts);
    execution_set_batch(execution, &there);
}

/* --- the passes --- */

static bool loss_is_computed(const struct execution *execution, size_t loss)
{
    const size_t node = execution->plan->graph->losses[loss];
    return execution->plan->values[node] != PLAN_NONE &&
           execution_can_run(execution, &execution->plan->graph->nodes[node]);
}

/* Where the losses of all images lie, once they are gathered. */
static const float *losses_there(const struct execution *execution, size_t loss)
{
    const float *gathered = execution->backend->gathered[loss];
    return gathered ? gathered : execution->values[execution->plan->graph->losses[loss]];
}

static void ask_loss(struct execution *execution, size_t loss)
{
    const size_t own = execution->batch.count * sizeof(float);
    struct execution_remote *remote = execution->backend;
    struct device *device = execution->device;
    if (remote->gathered[loss])
        device_of(execution)->all_gather(device, remote->gathered[loss],
                                         execution->values[execution->plan->graph->losses[loss]],
                                         own);
    device_of(execution)->read_later(device, remote->losses[loss], losses_there(execution, loss),
                                     execution->plan->ranks * own);
}

static void ask_forward(struct execution *execution)
{
    struct execution_remote *remote = execution->backend;
    execution_run_forward(execution, remote->moment.iteration);
    for (size_t i = 0; i < execution->plan->graph->loss_count; i++)
        if (loss_is_computed(execution, i))
            ask_loss(execution, i);
    device_of(execution)->event_record(execution->device, remote->losses_known);
}

/* Of several cards each computes the gradient of the mean of its own images' losses. */
static void ask_backward(struct execution *execution)
{
    execution_run_backward(execution);
    if (execution->plan->ranks > 1)
        device_of(execution)->all_reduce_mean(execution->device, execution->gradients,
                                              execution->plan->graph->learnable_floats);
}

static void ask_iteration(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    const struct execution_remote *remote = execution->backend;
    struct device_losses losses = {.losses = graph->loss_count,
                                   .count = execution->batch.count * execution->plan->ranks};
    ask_forward(execution);
    for (size_t i = 0; i < graph->loss_count; i++) {
        losses.there[i] = losses_there(execution, i);
        losses.weights[i] = graph->nodes[graph->losses[i]].attributes.loss.weight;
    }
    device_of(execution)->judge(execution->device, &losses);
    ask_backward(execution);
    execution_run_update(execution, remote->moment.learning_rate, remote->moment.step);
}

static bool same_batch(const struct execution_batch *a, const struct execution_batch *b)
{
    return a->images == b->images && a->labels == b->labels && a->targets == b->targets &&
           a->count == b->count;
}

static void record(struct execution *execution, void (*ask)(struct execution *))
{
    struct execution_remote *remote = execution->backend;
    device_of(execution)->record_begin(execution->device);
    ask(execution);
    remote->recording = device_of(execution)->record_end(execution->device);
    remote->recorded = execution->batch;
    remote->can_record = remote->recording;
}

/* The first time goes without: libraries prepare themselves in it. */
static void ask_or_replay(struct execution *execution, void (*ask)(struct execution *))
{
    struct execution_remote *remote = execution->backend;
    const bool full = execution->batch.count == execution->plan->batch &&
                      execution->batch.images == remote->bound.images && !execution->profile;
    if (full && remote->warm && remote->can_record && !remote->recording)
        record(execution, ask);
    if (full && remote->recording && same_batch(&execution->batch, &remote->recorded))
        device_of(execution)->replay(execution->device, remote->recording);
    else
        ask(execution);
    remote->warm = true;
}

static void set_moment(struct execution *execution)
{
    struct execution_remote *remote = execution->backend;
    remote->moment.beta1 = (double)execution->solver.momentum;
    remote->moment.beta2 = (double)execution->solver.beta2;
    device_of(execution)->set_iteration_values(execution->device, &remote->moment);
}

/* Batch norm moves its running statistics in the forward pass of training. */
static void begin(struct execution *execution)
{
    struct device_buffer *weights = execution->weights->buffer;
    device_buffer_send(weights);
    for (size_t i = 0; i < 2; i++)
        if (execution->backend->mirrors[i])
            device_buffer_send(execution->backend->mirrors[i]);
    if (execution->plan->mode == PLAN_TRAINING)
        device_buffer_touch_device(weights);
}

static void note_update(struct execution *execution)
{
    device_buffer_touch_device(execution->weights->buffer);
    for (size_t i = 0; i < 2; i++)
        if (execution->backend->mirrors[i])
            device_buffer_touch_device(execution->backend->mirrors[i]);
}

void execution_remote_forward(struct execution *execution, uint64_t iteration)
{
    begin(execution);
    execution->backend->moment.iteration = iteration;
    set_moment(execution);
    if (execution->plan->mode == PLAN_INFERENCE)
        ask_or_replay(execution, ask_forward);
    else
        ask_forward(execution);
}

void execution_remote_backward(struct execution *execution)
{
    ask_backward(execution);
}

void execution_remote_update(struct execution *execution, float learning_rate)
{
    struct execution_remote *remote = execution->backend;
    remote->moment.learning_rate = learning_rate;
    remote->moment.step = execution->solver_step;
    set_moment(execution);
    execution_run_update(execution, learning_rate, execution->solver_step);
    note_update(execution);
    if (execution->profile)
        device_of(execution)->wait(execution->device);
}

/* With a profile every pass is waited for, and the update measured by itself. */
static void iterate_measured(struct execution *execution)
{
    const struct execution_remote *remote = execution->backend;
    ask_forward(execution);
    const float loss = execution_loss(execution);
    if (!isfinite(loss))
        return;
    execution_run_backward(execution);
    const uint64_t start = clock_nanoseconds();
    execution_run_update(execution, remote->moment.learning_rate, remote->moment.step);
    execution_wait(execution);
    profile_add_update(execution->profile, clock_nanoseconds() - start);
}

float execution_remote_iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    struct execution_remote *remote = execution->backend;
    begin(execution);
    remote->moment.iteration = iteration;
    remote->moment.learning_rate = learning_rate;
    remote->moment.step = execution->solver_step + 1;
    set_moment(execution);
    if (execution->profile)
        iterate_measured(execution);
    else
        ask_or_replay(execution, ask_iteration);
    note_update(execution);
    const float loss = execution_loss(execution);
    execution->solver_step += isfinite(loss) ? 1 : 0;
    return loss;
}

/* --- results --- */

const float *execution_remote_losses(const struct execution *execution, size_t loss)
{
    const struct execution_remote *remote = execution->backend;
    device_of(execution)->event_wait(execution->device, remote->losses_known);
    return remote->losses[loss];
}

const float *execution_remote_output(const struct execution *execution)
{
    const struct plan *plan = execution->plan;
    const size_t bytes = output_floats(plan) / plan->batch * execution->batch.count * sizeof(float);
    device_of(execution)->copy_out(execution->device, execution->backend->output,
                                   execution_device_output(execution), bytes);
    return execution->backend->output;
}

const float *execution_remote_gradients(const struct execution *execution)
{
    struct execution_remote *remote = execution->backend;
    const size_t count = execution->plan->graph->learnable_floats;
    if (!execution->gradients)
        return NULL;
    if (!remote->gradients)
        remote->gradients = memory_new_aligned(count, sizeof(float), "the gradients", NULL);
    if (remote->gradients)
        device_of(execution)->copy_out(execution->device, remote->gradients, execution->gradients,
                                       count * sizeof(float));
    return remote->gradients;
}

float *execution_remote_state(struct execution *execution, size_t which)
{
    return execution->backend->state[which];
}

bool execution_remote_fetch(struct execution *execution, struct error *error)
{
    for (size_t i = 0; i < 2; i++)
        if (execution->backend->mirrors[i] &&
            !device_buffer_fetch(execution->backend->mirrors[i], error))
            return false;
    return weights_fetch(execution->weights, error);
}

void execution_remote_touch(struct execution *execution)
{
    for (size_t i = 0; i < 2; i++)
        if (execution->backend->mirrors[i])
            device_buffer_touch_host(execution->backend->mirrors[i]);
    weights_mark_changed(execution->weights);
}

bool execution_remote_finite(const struct execution *execution, const float *there, size_t count)
{
    float *here = memory_new_aligned(LOOK_FLOATS, sizeof *here, "a look at values", NULL);
    bool finite = true;
    for (size_t at = 0; here && finite && at < count; at += LOOK_FLOATS) {
        const size_t part = count - at < LOOK_FLOATS ? count - at : LOOK_FLOATS;
        device_of(execution)->copy_out(execution->device, here, there + at, part * sizeof *here);
        for (size_t i = 0; finite && i < part; i++)
            finite = isfinite(here[i]);
    }
    free(here);
    return finite;
}

/* --- profile --- */

void execution_remote_stamp(struct execution *execution, size_t node, bool backward, bool begins)
{
    struct execution_remote *remote = execution->backend;
    device_of(execution)->stamp(execution->device, 2 * remote->stamp_count + (begins ? 0 : 1));
    if (!begins)
        remote->stamps[remote->stamp_count++] = (struct stamped){node, backward};
}

void execution_remote_collect(struct execution *execution)
{
    struct execution_remote *remote = execution->backend;
    for (size_t i = 0; i < remote->stamp_count; i++) {
        const double seconds =
            device_of(execution)->stamp_seconds(execution->device, 2 * i, 2 * i + 1);
        profile_add_node(execution->profile, remote->stamps[i].node, remote->stamps[i].backward,
                         (uint64_t)(seconds * 1e9));
    }
    remote->stamp_count = 0;
    struct gemm_row product;
    while (device_of(execution)->take_product(execution->device, &product))
        profile_add_gemm_row(execution->profile, 0, &product);
}
