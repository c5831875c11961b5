/* The backend of a process group: data-parallel training on several devices.
 *
 * The batch is cut into equal parts, in the order of its images. Each rank is one device with an
 * ordinary execution of the same plan for its part: with a copy of the weights and the solver's
 * state, a recording, and a thread that enqueues its work (rank 0: the caller's thread). Three
 * things make the ranks compute what one device would:
 *
 *   - batch norm gathers the statistics of all parts, so it uses those of the whole batch
 *     (batch_norm.cu), and dropout numbers images by their place in the whole batch (dropout.cu);
 *   - the losses of all images are gathered (all-gather), so that all ranks check the same loss;
 *   - the gradients are averaged (all-reduce) before the update, so every rank makes the same
 *     update, and the weights stay equal.
 *
 * The host has one copy of weights and state. When the host changes it, it is sent to all ranks; it
 * is fetched from rank 0. An idle thread polls its device every 50 ms, so that it notices when a
 * rank has failed and aborts its communicator. */

#include "engine/execution/passes.h"

#include "base/memory.h"
#include "base/threads/condition.h"
#include "base/threads/thread.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_NANOSECONDS = 50000000 };

struct rank {
    struct backend_group *group;
    struct execution *execution;
    size_t number; /* 0, 1, ...: also which part of the batch */
    struct weights
        weights; /* not rank 0: borrows rank 0's host values, has another device buffer */
    pthread_t thread;
    float loss;
    const float *output;
    size_t not_finite; /* the first step with values that are not finite */
    bool in_weights;
};

struct backend_group {
    struct rank ranks[DEVICE_MAX_RANKS]; /* the execution of rank 0 is the caller's */
    size_t count, threads;               /* threads that were started */
    uint64_t weights_seen;               /* the version of the host's weights that all ranks have */
    float *output;                       /* host; allocated on first use */

    /* The work that all ranks do; it does not change while they do it. */
    void (*work)(struct rank *rank);
    struct execution_batch batch;
    uint64_t iteration;
    float learning_rate;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    uint64_t requests; /* number of calls of work_all so far */
    size_t busy;       /* ranks, except rank 0, that have not finished the present work */
    bool ending;
};

/* --- threads --- */

/* Waits for `changed`, with the lock held. After POLL_NANOSECONDS without it, polls the device and
 * returns. */
static void wait_for_change(struct rank *rank)
{
    struct backend_group *group = rank->group;
    struct device *device = rank->execution->device;
    struct timespec due;
    condition_now(&due);
    due.tv_nsec += POLL_NANOSECONDS;
    due.tv_sec += due.tv_nsec / 1000000000;
    due.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&group->changed, &group->lock, &due) != ETIMEDOUT)
        return;
    pthread_mutex_unlock(&group->lock);
    device->driver->backend->poll(device);
    pthread_mutex_lock(&group->lock);
}

static void *serve_rank(void *context)
{
    struct rank *rank = context;
    struct backend_group *group = rank->group;
    uint64_t done = 0;
    pthread_mutex_lock(&group->lock);
    while (!group->ending) {
        if (group->requests == done) {
            wait_for_change(rank);
            continue;
        }
        done++;
        pthread_mutex_unlock(&group->lock);
        group->work(rank);
        pthread_mutex_lock(&group->lock);
        if (--group->busy == 0)
            pthread_cond_broadcast(&group->changed);
    }
    pthread_mutex_unlock(&group->lock);
    return NULL;
}

/* Calls work() for every rank, in the rank's thread; returns when all calls have returned. */
static void work_all(struct backend_group *group, void (*work)(struct rank *rank))
{
    for (size_t i = 1; i < group->count; i++)
        group->ranks[i].execution->solver_step = group->ranks[0].execution->solver_step;
    pthread_mutex_lock(&group->lock);
    group->work = work;
    group->busy = group->count - 1;
    group->requests++;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    work(&group->ranks[0]);
    pthread_mutex_lock(&group->lock);
    while (group->busy > 0)
        wait_for_change(&group->ranks[0]);
    pthread_mutex_unlock(&group->lock);
}

static bool start_thread(struct rank *rank, struct error *error)
{
    const int code = thread_start(&rank->thread, serve_rank, rank);
    return code == 0 ||
           error_set(error, ERROR_SYSTEM, rank->execution->device->name, "end other programs",
                     "no thread can be made: %s", strerror(code));
}

static void make_lock(struct backend_group *group)
{
    pthread_mutex_init(&group->lock, NULL);
    condition_create(&group->changed);
}

/* --- creation --- */

static bool make_rank(struct rank *rank, const struct execution *first, uint64_t seed,
                      struct error *error)
{
    struct device *device = first->device->others[rank->number - 1];
    rank->weights =
        (struct weights){.graph = first->weights->graph, .values = first->weights->values};
    rank->execution = execution_make(&backend_device, first->plan, device, &rank->weights,
                                     &first->solver, seed, (struct execution *)first, error);
    return rank->execution;
}

static bool make_ranks(struct backend_group *group, struct execution *first, uint64_t seed,
                       struct error *error)
{
    group->ranks[0] = (struct rank){.group = group, .execution = first};
    for (size_t i = 1; i < group->count; i++) {
        group->ranks[i] = (struct rank){.group = group, .number = i};
        if (!make_rank(&group->ranks[i], first, seed, error))
            return false;
    }
    while (group->threads + 1 < group->count) {
        if (!start_thread(&group->ranks[group->threads + 1], error))
            return false;
        group->threads++;
    }
    return true;
}

static bool create(struct execution *first, uint64_t seed, struct error *error)
{
    if (!backend_device_create(first, seed, error))
        return false;
    struct device *device = first->device;
    struct backend_group *group;
    assert(first->plan->ranks == device->other_count + 1 && !first->plan->frozen);
    if (!device->driver->backend->join(device, error))
        return false;
    group = memory_new(1, sizeof *group, "the execution", error);
    if (!group) {
        device->driver->backend->leave(device);
        return false;
    }
    make_lock(group);
    group->count = first->plan->ranks;
    first->group = group;
    group->weights_seen = first->weights->buffer->changes;
    return weights_fetch(first->weights, error) && make_ranks(group, first, seed, error);
}

static void end_threads(struct backend_group *group)
{
    pthread_mutex_lock(&group->lock);
    group->ending = true;
    pthread_cond_broadcast(&group->changed);
    pthread_mutex_unlock(&group->lock);
    for (size_t i = 1; i <= group->threads; i++)
        pthread_join(group->ranks[i].thread, NULL);
    pthread_mutex_destroy(&group->lock);
    pthread_cond_destroy(&group->changed);
}

/* Frees the recordings before the group that they belong to. */
static void release(struct execution *first)
{
    struct backend_group *group = first->group;
    struct device *device = first->device;
    if (!group) {
        backend_device_free(first);
        return;
    }
    end_threads(group);
    for (size_t i = 1; i < group->count; i++) {
        struct rank *rank = &group->ranks[i];
        if (rank->execution)
            execution_release(rank->execution);
        device_buffer_free(rank->weights.buffer);
    }
    backend_device_free(first);
    device->driver->backend->leave(device);
    free(group->output);
    free(group);
}

/* --- batches --- */

static void bind_part(struct rank *rank)
{
    const struct execution_batch *whole = &rank->group->batch;
    const struct graph *graph = rank->execution->plan->graph;
    const size_t count = whole->count / rank->group->count, from = rank->number * count;
    const size_t image = from * shape_count(graph->nodes[0].output);
    const size_t target = from * shape_count(graph->nodes[graph->output].output);
    struct execution_batch part = *whole;
    part.count = count;
    if (whole->images)
        part.images = whole->images + image;
    if (whole->image_samples)
        part.image_samples = whole->image_samples + image;
    if (whole->labels)
        part.labels = whole->labels + from;
    if (whole->soft_targets)
        part.soft_targets = whole->soft_targets + from;
    part.class_weights = whole->class_weights;
    if (whole->targets)
        part.targets = whole->targets + target;
    if (whole->target_samples)
        part.target_samples = whole->target_samples + target;
    backend_device_bind(rank->execution, &part);
}

static void bind(struct execution *first, const struct execution_batch *batch)
{
    assert(batch->count % first->group->count == 0);
    first->group->batch = *batch;
    work_all(first->group, bind_part);
}

/* --- passes --- */

/* Marks the weights of all ranks as outdated if the host's have changed since the last call. */
static void share_weights(struct execution *first)
{
    struct backend_group *group = first->group;
    const uint64_t changes = first->weights->buffer->changes;
    for (size_t i = 1; changes != group->weights_seen && i < group->count; i++)
        weights_mark_changed(&group->ranks[i].weights);
    group->weights_seen = changes;
}

static void forward_part(struct rank *rank)
{
    backend_device_forward(rank->execution, rank->group->iteration);
}

static void backward_part(struct rank *rank)
{
    backend_device_backward(rank->execution);
}

static void update_part(struct rank *rank)
{
    backend_device_update(rank->execution, rank->group->learning_rate);
}

static void iterate_part(struct rank *rank)
{
    rank->loss =
        backend_device_iterate(rank->execution, rank->group->iteration, rank->group->learning_rate);
}

static void wait_part(struct rank *rank)
{
    struct device *device = rank->execution->device;
    device->driver->backend->wait(device);
}

static void forward(struct execution *first, uint64_t iteration)
{
    share_weights(first);
    backend_device_settle(first);
    first->group->iteration = iteration;
    work_all(first->group, forward_part);
}

static void backward(struct execution *first)
{
    work_all(first->group, backward_part);
}

static void update(struct execution *first, float learning_rate)
{
    first->group->learning_rate = learning_rate;
    work_all(first->group, update_part);
}

/* Runs an iteration with a profile. Only rank 0 is profiled and waits after each pass; the other
 * ranks must not start a pass that rank 0 may not reach. */
static float iterate_measured(struct execution *first, uint64_t iteration, float learning_rate)
{
    forward(first, iteration);
    const float loss = execution_loss(first);
    if (!isfinite(loss))
        return loss;
    backward(first);
    execution_update(first, learning_rate);
    return loss;
}

static float iterate(struct execution *first, uint64_t iteration, float learning_rate)
{
    struct backend_group *group = first->group;
    if (first->profile)
        return iterate_measured(first, iteration, learning_rate);
    share_weights(first);
    backend_device_settle(first);
    group->iteration = iteration;
    group->learning_rate = learning_rate;
    work_all(group, iterate_part);
    return group->ranks[0].loss;
}

static void wait_all(struct execution *first)
{
    work_all(first->group, wait_part);
}

static void touch(struct execution *first)
{
    for (size_t i = 0; i < first->group->count; i++)
        backend_device_touch(first->group->ranks[i].execution);
}

/* --- results --- */

static void output_part(struct rank *rank)
{
    rank->output = backend_device_output(rank->execution);
}

/* Returns the outputs of all ranks, concatenated; NULL if out of memory. */
static const float *output(const struct execution *first)
{
    struct backend_group *group = first->group;
    const struct graph *graph = first->plan->graph;
    const size_t values = shape_count(graph->nodes[graph->output].output);
    const size_t part = first->batch.count * values;
    if (!group->output)
        group->output = memory_new_aligned(group->count * first->plan->batch * values,
                                           sizeof *group->output, "the network's output", NULL);
    work_all(group, output_part);
    for (size_t i = 0; group->output && i < group->count; i++)
        memcpy(group->output + i * part, group->ranks[i].output, part * sizeof *group->output);
    return group->output;
}

/* Runs a rank's forward pass on its part of the batch, without collectives: batch norm uses the
 * statistics of the part. */
static void find_part(struct rank *rank)
{
    struct device *device = rank->execution->device;
    const struct device_backend *backend = device->driver->backend;
    backend->set_standalone(device, true);
    rank->not_finite =
        execution_run_until_not_finite(rank->execution, rank->group->iteration, &rank->in_weights);
    backend->wait(device);
    backend->set_standalone(device, false);
}

static size_t find_not_finite(struct execution *first, uint64_t iteration, bool *in_weights)
{
    struct backend_group *group = first->group;
    const struct rank *earliest = &group->ranks[0];
    group->iteration = iteration;
    work_all(group, find_part);
    for (size_t i = 1; i < group->count; i++)
        if (group->ranks[i].not_finite < earliest->not_finite)
            earliest = &group->ranks[i];
    *in_weights = earliest->in_weights;
    /* each rank has updated its running statistics with its images only */
    weights_fetch(first->weights, NULL);
    for (size_t i = 1; i < group->count; i++)
        weights_mark_changed(&group->ranks[i].weights);
    return earliest->not_finite;
}

const struct execution_backend backend_group = {
    .reserve = backend_device_reserve,
    .create = create,
    .free = release,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .update = update,
    .iterate = iterate,
    .wait = wait_all,
    .output = output,
    .gradients = backend_device_gradients,
    .solver_state = backend_device_solver_state,
    .fetch = backend_device_fetch,
    .touch = touch,
    .mix_gradients = backend_device_mix_gradients,
    .losses = backend_device_losses,
    .all_finite = backend_device_all_finite,
    .find_not_finite = find_not_finite,
    .begin_call = backend_device_begin_call,
    .end_call = backend_device_end_call,
    .end_pass = backend_device_end_pass,
};
