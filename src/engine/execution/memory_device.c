/* The memory of a device of its own, such as a GPU.
 *
 * Memory: one block on the device holds the arena, the gradients, the solver's state and the bound
 * batch; the staging buffers, through which batches come, lie beside it. Weights have a copy on the
 * device that all executions share. The losses of every
 * image and the output are copied back to the host, the losses into pinned memory.
 *
 * Time: the device works asynchronously. An iteration is enqueued as a whole, forward, backward and
 * update; the host waits only for the event after the losses. After a loss that is NaN or infinite
 * the weights must not change, so the device checks it as well and skips the update. From the
 * second iteration of a full batch on, the work is a recording (a CUDA graph) that is replayed: the
 * same batch size at the same address needs the same work, and what differs, the iteration's number
 * and the learning rate, lies in the device's memory. In adversarial training the host decides
 * between the passes whether to go on, so each pass is a recording of its own. */
#include "base/clock.h"
#include "base/memory.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"
#include "engine/execution/internal.h"
#include "engine/ops/op.h"
#include "engine/plan/fallback.h"
#include "engine/training/loss_scale.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED_FLOATS = 1 << 18 }; /* values per copy to the host, which checks them for NaN */
enum { RECORDINGS = 8 };

struct measured_call {
    size_t node;
    bool backward;
};

/* Work that is repeated: the function that enqueues it, and its batch. */
struct repeated {
    void (*enqueue)(struct execution *);
    struct execution_batch batch;
    struct device_recording *recording; /* NULL: it was enqueued once, and not yet recorded */
};

struct memory_device {
    struct execution_batch bound;     /* device: the arrays that batches are copied to */
    struct device_staging *staging;   /* transfers batches to the device */
    float *losses[DEVICE_LOSSES];     /* host: of the batch's images, across all ranks */
    float *gathered[DEVICE_LOSSES];   /* device: the same; NULL with one rank */
    float *output;                    /* host */
    float *gradients;                 /* host; allocated on first use */
    float *state[2];                  /* host: copies of the solver's state */
    struct device_buffer *buffers[2]; /* the solver's state */
    struct device_event *losses_ready;
    struct repeated repeated[RECORDINGS];
    size_t repeated_count;
    bool can_record;
    bool records_passes; /* also the passes of training (execution_record_passes) */
    char refusal[128];   /* why the device refused to record an iteration; "": it did not */
    struct recording_refusals refusals; /* their numbers; `why` is not set */
    struct iteration_values values;     /* the host's copy of what kernels read on the device */
    struct loss_scale loss_scale;       /* scale 0: not in float16 */
    unsigned *overflow;                 /* host, pinned: whether the last update was skipped */
    struct device_event *updated;       /* after it has been copied there */
    bool unsettled;                     /* the last update may have been skipped */
    struct measured_call *measured;     /* with a profile: the calls of this pass */
    size_t measured_count;
};

static const struct device_backend *device_of(const struct execution *execution)
{
    return execution->device->driver->backend;
}

/* --- sizes --- */

static struct shape image_shape(const struct plan *plan)
{
    return plan->graph->nodes[0].output;
}

/* Returns the shape of the second input, the targets; {0} if there is none. */
static struct shape target_shape(const struct plan *plan)
{
    for (size_t n = 1; n < plan->graph->node_count; n++)
        if (plan->graph->nodes[n].op == &op_input)
            return plan->graph->nodes[n].output;
    return (struct shape){0};
}

static size_t image_bytes(const struct plan *plan)
{
    return plan->batch * shape_count(image_shape(plan)) * sizeof(float);
}

static size_t target_bytes(const struct plan *plan)
{
    return plan->batch * shape_count(target_shape(plan)) * sizeof(float);
}

static size_t label_bytes(const struct plan *plan)
{
    return plan->batch * sizeof(int32_t);
}

/* Returns the bytes of the soft targets and of the class weights; 0 if the plan has none. */
static size_t soft_target_bytes(const struct plan *plan)
{
    return plan->soft_targets ? plan->batch * sizeof(struct soft_target) : 0;
}

static size_t class_weight_bytes(const struct plan *plan)
{
    const struct graph *graph = plan->graph;
    return plan->soft_targets ? graph->nodes[graph->output].output.channels * sizeof(float) : 0;
}

static size_t output_floats(const struct plan *plan)
{
    return plan->batch * shape_count(plan->graph->nodes[plan->graph->output].output);
}

/* Returns the bytes of a batch without its images. */
static size_t label_part_bytes(const struct plan *plan)
{
    return memory_round_up(label_bytes(plan)) + memory_round_up(soft_target_bytes(plan)) +
           memory_round_up(class_weight_bytes(plan));
}

static size_t batch_bytes(const struct plan *plan)
{
    if (plan->device_batches)
        return 0;
    return memory_round_up(image_bytes(plan)) + memory_round_up(target_bytes(plan)) +
           label_part_bytes(plan);
}

/* Returns the bytes of a batch of samples. */
static size_t sample_bytes(const struct plan *plan)
{
    return memory_round_up(plan->batch * shape_count(image_shape(plan))) +
           memory_round_up(plan->batch * shape_count(target_shape(plan))) + label_part_bytes(plan);
}

/* Returns the bytes of the gathered losses of all ranks; 0 if there is one rank. */
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
    return memory_round_up(plan->arena.bytes) + arrays * weights + batch_bytes(plan) +
           plan->graph->loss_count * memory_round_up(gathered_bytes(plan));
}

/* --- creation --- */

static bool reserve(struct execution *execution, struct error *error)
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
    struct memory_device *self = execution->on_device;
    assert(plan->graph->loss_count <= DEVICE_LOSSES);
    for (size_t i = 0; i < plan->graph->loss_count; i++) {
        self->losses[i] = device_of(execution)->allocate_pinned(
            execution->device, plan->ranks * plan->batch * sizeof(float), "the losses", error);
        if (!self->losses[i])
            return false;
        if (plan->ranks > 1)
            self->gathered[i] =
                execution_take(execution, gathered_bytes(plan), "the losses", error);
    }
    return true;
}

static bool make_buffers(struct execution *execution, struct error *error)
{
    const size_t count = execution->plan->graph->learnable_floats;
    struct memory_device *self = execution->on_device;
    for (size_t i = 0; i < 2 && execution->state[i]; i++) {
        self->state[i] = execution->rank0
                             ? execution->rank0->on_device->state[i]
                             : memory_new(count, sizeof(float), "the solver's state", error);
        if (!self->state[i])
            return false;
        self->buffers[i] = device_buffer_borrow(execution->device, self->state[i],
                                                execution->state[i], count, error);
        if (!self->buffers[i])
            return false;
    }
    return true;
}

static bool make_batch(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    struct memory_device *self = execution->on_device;
    if (plan->device_batches)
        return true;
    self->bound.images = execution_take(execution, image_bytes(plan), "the batch", error);
    self->bound.targets = execution_take(execution, target_bytes(plan), "the batch", error);
    self->bound.labels = execution_take(execution, label_bytes(plan), "the batch", error);
    self->bound.soft_targets =
        execution_take(execution, soft_target_bytes(plan), "the batch", error);
    self->bound.class_weights =
        execution_take(execution, class_weight_bytes(plan), "the batch", error);
    struct staging_sizes sizes = {.batch = batch_bytes(plan), .ahead = plan->mode == PLAN_TRAINING};
    if (plan->sample_batches)
        sizes.on_device = sample_bytes(plan);
    else if (sizes.ahead)
        sizes.on_device = sizes.batch;
    self->staging = device_of(execution)->staging_create(execution->device, &sizes, error);
    return self->staging;
}

/* Prepares the scaling of the loss, in float16. */
static bool make_loss_scale(struct execution *execution, struct error *error)
{
    struct memory_device *self = execution->on_device;
    if (execution->plan->mode != PLAN_TRAINING || execution->device->precision != PRECISION_FP16)
        return true;
    self->loss_scale = loss_scale_start();
    self->overflow = device_of(execution)->allocate_pinned(
        execution->device, sizeof *self->overflow, "the loss scale", error);
    self->updated =
        self->overflow ? device_of(execution)->event_create(execution->device, error) : NULL;
    return self->updated;
}

/* Allocates the host memory of the nodes that fall back, if there are any. */
static bool make_fallback(struct execution *execution, struct error *error)
{
    if (fallback_host_bytes(execution->plan) == 0)
        return true;
    execution->fallback = host_fallback_create(execution->plan, execution->device, error);
    return execution->fallback;
}

static bool create(struct execution *execution, struct error *error)
{
    const struct plan *plan = execution->plan;
    struct memory_device *self = memory_new(1, sizeof *self, "the execution", error);
    execution->on_device = self;
    if (!self || !make_fallback(execution, error) || !make_batch(execution, error) ||
        !make_losses(execution, error) || !make_buffers(execution, error) ||
        !make_loss_scale(execution, error))
        return false;
    self->can_record = !execution->fallback; /* a captured graph cannot wait for the host */
    self->losses_ready = device_of(execution)->event_create(execution->device, error);
    if (!self->losses_ready)
        return false;
    self->output =
        memory_new_aligned(output_floats(plan), sizeof(float), "the network's output", error);
    self->measured = memory_new(plan->order.count, sizeof *self->measured, "the execution", error);
    return self->output && self->measured && device_check(execution->device, error);
}

static void release(struct execution *execution)
{
    struct device *device = execution->device;
    struct memory_device *self = execution->on_device;
    const struct device_backend *backend = device_of(execution);
    backend->wait(device);
    for (size_t i = 0; self && i < DEVICE_LOSSES; i++)
        backend->release_pinned(device, self->losses[i]);
    for (size_t i = 0; self && i < 2; i++) {
        device_buffer_free(self->buffers[i]);
        if (!execution->rank0)
            free(self->state[i]);
    }
    if (self) {
        for (size_t i = 0; i < self->repeated_count; i++)
            backend->recording_free(device, self->repeated[i].recording);
        backend->event_free(device, self->losses_ready);
        backend->event_free(device, self->updated);
        backend->release_pinned(device, self->overflow);
        backend->staging_free(device, self->staging);
        free(self->gradients);
        free(self->output);
        free(self->measured);
        free(self);
    }
    host_fallback_free(execution->fallback);
    device->driver->release(device, execution->block);
}

/* --- a batch --- */

/* Returns the array for `count` images of this shape, floats or, if there are any, samples. */
static struct batch_array array_of(const float *on_device, const float *values,
                                   const uint8_t *samples, struct shape shape, size_t count)
{
    const size_t all = count * shape_count(shape);
    return samples ? (struct batch_array){.on_device = (void *)on_device,
                                          .host = samples,
                                          .bytes = all,
                                          .channels = shape.channels,
                                          .area = shape_area(shape)}
                   : (struct batch_array){.on_device = (void *)on_device,
                                          .host = values,
                                          .bytes = all * sizeof *values};
}

static void bind(struct execution *execution, const struct execution_batch *batch)
{
    const struct plan *plan = execution->plan;
    const struct execution_batch *bound = &execution->on_device->bound;
    struct execution_batch on_device = {.images = bound->images, .count = batch->count};
    struct device_batch sent = {.pinned = batch->in_device_batch};
    assert(!plan->device_batches && (plan->sample_batches || !batch->image_samples));
    memcpy(sent.scale.mean, batch->mean, sizeof sent.scale.mean);
    memcpy(sent.scale.deviation, batch->deviation, sizeof sent.scale.deviation);
    sent.arrays[0] = array_of(bound->images, batch->images, batch->image_samples, image_shape(plan),
                              batch->count);
    if ((batch->targets || batch->target_samples) && target_bytes(plan)) {
        on_device.targets = bound->targets;
        sent.arrays[1] = array_of(bound->targets, batch->targets, batch->target_samples,
                                  target_shape(plan), batch->count);
    }
    if (batch->labels) {
        on_device.labels = bound->labels;
        sent.arrays[2] = (struct batch_array){.on_device = (void *)bound->labels,
                                              .host = batch->labels,
                                              .bytes = batch->count * sizeof *batch->labels};
    }
    if (batch->soft_targets) {
        on_device.soft_targets = bound->soft_targets;
        sent.arrays[3] = (struct batch_array){.on_device = (void *)bound->soft_targets,
                                              .host = batch->soft_targets,
                                              .bytes = batch->count * sizeof *batch->soft_targets};
    }
    if (batch->class_weights) {
        on_device.class_weights = bound->class_weights;
        sent.arrays[4] = (struct batch_array){.on_device = (void *)bound->class_weights,
                                              .host = batch->class_weights,
                                              .bytes = class_weight_bytes(plan)};
    }
    device_of(execution)->send(execution->device, execution->on_device->staging, &sent);
    execution_set_batch(execution, &on_device);
}

/* --- the passes --- */

static bool loss_is_computed(const struct execution *execution, size_t loss)
{
    const size_t node = execution->plan->graph->losses[loss];
    return execution->plan->arena.values[node] != PLAN_NONE &&
           execution_can_run(execution, &execution->plan->graph->nodes[node]);
}

/* Returns the device array that holds the losses of all images once they are gathered. */
static const float *device_losses_of(const struct execution *execution, size_t loss)
{
    const float *gathered = execution->on_device->gathered[loss];
    return gathered ? gathered : execution->values[execution->plan->graph->losses[loss]];
}

static void enqueue_loss(struct execution *execution, size_t loss)
{
    const size_t bytes = execution->batch.count * sizeof(float);
    struct memory_device *self = execution->on_device;
    struct device *device = execution->device;
    if (self->gathered[loss])
        device_of(execution)->all_gather(device, self->gathered[loss],
                                         execution->values[execution->plan->graph->losses[loss]],
                                         bytes);
    device_of(execution)->read_later(device, self->losses[loss], device_losses_of(execution, loss),
                                     execution->plan->ranks * bytes);
}

static void enqueue_forward(struct execution *execution)
{
    struct memory_device *self = execution->on_device;
    execution_run_forward(execution, self->values.iteration);
    for (size_t i = 0; i < execution->plan->graph->loss_count; i++)
        if (loss_is_computed(execution, i))
            enqueue_loss(execution, i);
    device_of(execution)->event_record(execution->device, self->losses_ready);
}

/* Enqueues the backward pass, and the average of the gradients over the ranks: each rank computes
 * the gradient of the mean loss of its images. */
static void enqueue_backward(struct execution *execution)
{
    execution_run_backward(execution);
    if (execution->plan->ranks > 1)
        device_of(execution)->all_reduce_mean(execution->device, execution->gradients,
                                              execution->plan->graph->learnable_floats);
}

/* Enqueues the update, and in float16 a copy of whether it was skipped. */
static void enqueue_update(struct execution *execution)
{
    const struct memory_device *self = execution->on_device;
    execution_run_update(execution, self->values.learning_rate, self->values.step);
    if (!self->overflow)
        return;
    device_of(execution)->read_overflow_later(execution->device, self->overflow);
    device_of(execution)->event_record(execution->device, self->updated);
}

/* Waits, in float16, for the last update; if it was skipped, it does not count as a step. The other
 * ranks of a group, whose gradients are the same, take scale and number of steps from rank 0. */
static void settle(struct execution *execution)
{
    struct memory_device *self = execution->on_device;
    if (execution->rank0)
        self->loss_scale = execution->rank0->on_device->loss_scale;
    if (execution->rank0 || !self->unsettled)
        return;
    self->unsettled = false;
    device_of(execution)->event_wait(execution->device, self->updated);
    loss_scale_step(&self->loss_scale, *self->overflow);
    execution->solver_step -= *self->overflow;
}

static void enqueue_iteration(struct execution *execution)
{
    const struct graph *graph = execution->plan->graph;
    struct device_losses losses = {.losses = graph->loss_count,
                                   .count = execution->batch.count * execution->plan->ranks};
    enqueue_forward(execution);
    for (size_t i = 0; i < graph->loss_count; i++) {
        losses.on_device[i] = device_losses_of(execution, i);
        losses.weights[i] = graph->nodes[graph->losses[i]].attributes.loss.weight;
    }
    device_of(execution)->check_loss(execution->device, &losses);
    enqueue_backward(execution);
    enqueue_update(execution);
}

static void record(struct execution *execution, struct repeated *work)
{
    struct memory_device *self = execution->on_device;
    device_of(execution)->record_begin(execution->device);
    work->enqueue(execution);
    work->recording =
        device_of(execution)->record_end(execution->device, self->refusal, sizeof self->refusal);
    self->can_record = work->recording;
    self->refusals.captures += !work->recording;
}

static struct recording_refusals refusals(const struct execution *execution)
{
    struct recording_refusals refusals = execution->on_device->refusals;
    refusals.why = execution->on_device->refusal;
    return refusals;
}

/* Returns the entry of this work on the bound batch, or NULL if there is none. */
static struct repeated *find_repeated(struct execution *execution,
                                      void (*enqueue)(struct execution *))
{
    struct memory_device *self = execution->on_device;
    for (size_t i = 0; i < self->repeated_count; i++)
        if (self->repeated[i].enqueue == enqueue &&
            execution_same_arrays(&self->repeated[i].batch, &execution->batch))
            return &self->repeated[i];
    return NULL;
}

/* Enqueues work, or replays its recording. The first time it is not recorded, because libraries
 * initialise themselves then. */
static void enqueue_or_replay(struct execution *execution, void (*enqueue)(struct execution *))
{
    struct memory_device *self = execution->on_device;
    const bool full = execution->batch.count == execution->plan->batch && !execution->profile;
    struct repeated *work = full ? find_repeated(execution, enqueue) : NULL;
    if (work && self->can_record && !work->recording)
        record(execution, work);
    if (work && work->recording)
        device_of(execution)->replay(execution->device, work->recording);
    else
        enqueue(execution);
    self->refusals.passes += work && !work->recording && self->refusals.captures > 0;
    if (full && !work && self->repeated_count < RECORDINGS)
        self->repeated[self->repeated_count++] =
            (struct repeated){.enqueue = enqueue, .batch = execution->batch};
}

static void record_passes(struct execution *execution)
{
    execution->on_device->records_passes = true;
}

static void set_iteration_values(struct execution *execution)
{
    struct memory_device *self = execution->on_device;
    self->values.beta1 = (double)execution->solver.momentum;
    self->values.beta2 = (double)execution->solver.beta2;
    device_of(execution)->set_iteration_values(execution->device, &self->values);
}

/* Sends weights and state to the device if the host has changed them. In training, marks the
 * weights as changed on the device, because batch norm updates its running statistics in a forward
 * pass. */
static void begin(struct execution *execution)
{
    struct device_buffer *weights = execution->weights->buffer;
    settle(execution);
    execution->on_device->values.loss_scale = execution->on_device->loss_scale.scale;
    device_buffer_send(weights);
    for (size_t i = 0; i < 2; i++)
        if (execution->on_device->buffers[i])
            device_buffer_send(execution->on_device->buffers[i]);
    if (execution->plan->mode == PLAN_TRAINING)
        device_buffer_touch_device(weights);
}

static void note_update(struct execution *execution)
{
    device_buffer_touch_device(execution->weights->buffer);
    for (size_t i = 0; i < 2; i++)
        if (execution->on_device->buffers[i])
            device_buffer_touch_device(execution->on_device->buffers[i]);
}

static void forward(struct execution *execution, uint64_t iteration)
{
    begin(execution);
    execution->on_device->values.iteration = iteration;
    set_iteration_values(execution);
    if (execution->plan->mode == PLAN_INFERENCE || execution->on_device->records_passes)
        enqueue_or_replay(execution, enqueue_forward);
    else
        enqueue_forward(execution);
}

static void backward(struct execution *execution)
{
    if (execution->on_device->records_passes)
        enqueue_or_replay(execution, enqueue_backward);
    else
        enqueue_backward(execution);
}

static void update(struct execution *execution, float learning_rate)
{
    struct memory_device *self = execution->on_device;
    self->values.learning_rate = learning_rate;
    self->values.step = execution->solver_step;
    set_iteration_values(execution);
    if (self->records_passes)
        enqueue_or_replay(execution, enqueue_update);
    else
        enqueue_update(execution);
    self->unsettled = self->overflow;
    note_update(execution);
    if (execution->profile)
        device_of(execution)->wait(execution->device);
}

static float iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    struct memory_device *self = execution->on_device;
    begin(execution);
    self->values.iteration = iteration;
    self->values.learning_rate = learning_rate;
    self->values.step = execution->solver_step + 1;
    set_iteration_values(execution);
    enqueue_or_replay(execution, enqueue_iteration);
    note_update(execution);
    const float loss = execution_loss(execution);
    execution->solver_step += isfinite(loss) ? 1 : 0;
    self->unsettled = self->overflow && isfinite(loss);
    return loss;
}

static void wait_for_device(struct execution *execution)
{
    device_of(execution)->wait(execution->device);
}

/* --- results --- */

static const float *losses(const struct execution *execution, size_t loss)
{
    const struct memory_device *self = execution->on_device;
    device_of(execution)->event_wait(execution->device, self->losses_ready);
    return self->losses[loss];
}

static const float *output(const struct execution *execution)
{
    const struct plan *plan = execution->plan;
    const size_t bytes = output_floats(plan) / plan->batch * execution->batch.count * sizeof(float);
    device_of(execution)->copy_out(execution->device, execution->on_device->output,
                                   execution->values[plan->graph->output], bytes);
    return execution->on_device->output;
}

static const float *gradients(const struct execution *execution)
{
    struct memory_device *self = execution->on_device;
    const size_t count = execution->plan->graph->learnable_floats;
    if (!execution->gradients)
        return NULL;
    if (!self->gradients)
        self->gradients = memory_new_aligned(count, sizeof(float), "the gradients", NULL);
    if (self->gradients)
        device_of(execution)->copy_out(execution->device, self->gradients, execution->gradients,
                                       count * sizeof(float));
    for (size_t i = 0; self->gradients && self->values.loss_scale > 0 && i < count; i++)
        self->gradients[i] /= self->values.loss_scale;
    return self->gradients;
}

static struct loss_scale *loss_scale(struct execution *execution)
{
    return &execution->on_device->loss_scale;
}

static float *solver_state(struct execution *execution, size_t which)
{
    return execution->on_device->state[which];
}

static bool fetch(struct execution *execution, struct error *error)
{
    for (size_t i = 0; i < 2; i++)
        if (execution->on_device->buffers[i] &&
            !device_buffer_fetch(execution->on_device->buffers[i], error))
            return false;
    return weights_fetch(execution->weights, error);
}

static void touch(struct execution *execution)
{
    for (size_t i = 0; i < 2; i++)
        if (execution->on_device->buffers[i])
            device_buffer_touch_host(execution->on_device->buffers[i]);
    weights_mark_changed(execution->weights);
}

static bool all_finite(const struct execution *execution, const float *values, size_t count)
{
    float *host = memory_new_aligned(CHECKED_FLOATS, sizeof *host, "a check of values", NULL);
    bool finite = true;
    for (size_t at = 0; host && finite && at < count; at += CHECKED_FLOATS) {
        const size_t chunk = count - at < CHECKED_FLOATS ? count - at : CHECKED_FLOATS;
        device_of(execution)->copy_out(execution->device, host, values + at, chunk * sizeof *host);
        for (size_t i = 0; finite && i < chunk; i++)
            finite = isfinite(host[i]);
    }
    free(host);
    return finite;
}

static void mix_gradients(struct execution *execution, const float *more, float scale)
{
    device_of(execution)->mix(execution->device, execution->gradients, more, scale,
                              execution->plan->graph->learnable_floats);
}

/* --- profile --- */

/* Enqueues the stamp at which call i begins, 2i; it ends at 2i + 1. */
static void begin_call(struct execution *execution)
{
    device_of(execution)->stamp(execution->device, 2 * execution->on_device->measured_count);
}

static void end_call(struct execution *execution, size_t node, bool backward)
{
    struct memory_device *self = execution->on_device;
    device_of(execution)->stamp(execution->device, 2 * self->measured_count + 1);
    self->measured[self->measured_count++] = (struct measured_call){node, backward};
}

static void end_pass(struct execution *execution)
{
    struct memory_device *self = execution->on_device;
    for (size_t i = 0; i < self->measured_count; i++) {
        const double seconds =
            device_of(execution)->stamp_seconds(execution->device, 2 * i, 2 * i + 1);
        profile_add_node(execution->profile, self->measured[i].node, self->measured[i].backward,
                         (uint64_t)(seconds * 1e9));
    }
    self->measured_count = 0;
    struct gemm_row product;
    while (device_of(execution)->take_product(execution->device, &product))
        profile_add_gemm_row(execution->profile, 0, &product);
}

const struct execution_memory memory_device = {
    .reserve = reserve,
    .create = create,
    .free = release,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .update = update,
    .iterate = iterate,
    .wait = wait_for_device,
    .output = output,
    .gradients = gradients,
    .solver_state = solver_state,
    .fetch = fetch,
    .touch = touch,
    .mix_gradients = mix_gradients,
    .losses = losses,
    .all_finite = all_finite,
    .settle = settle,
    .loss_scale = loss_scale,
    .refusals = refusals,
    .record_passes = record_passes,
    .begin_call = begin_call,
    .end_call = end_call,
    .end_pass = end_pass,
};
