/* The communicator of GPUs that share every batch by NCCL: data-parallel training on several GPUs
 * of this process, or on one GPU of each of several processes.
 *
 * The batch is cut into micro-batches, in the order of its images. Each rank is one GPU with an
 * ordinary execution of the same plan for its micro-batch: with a copy of the weights and the
 * solver's state, a recording, and a thread that enqueues its work (the first rank of a process:
 * the caller's thread). Three things make the ranks compute what one GPU would; the device does
 * them where plan->ranks is above 1:
 *
 *   - batch norm gathers the statistics of all micro-batches, so it uses those of the whole batch
 *     (batch_norm.cu), and dropout numbers images by their place in the whole batch (dropout.cu);
 *   - the losses of all images are gathered (all-gather), so that all ranks check the same loss;
 *   - the gradients are averaged (all-reduce) before the update, so every rank makes the same
 *     update, and the weights stay equal.
 *
 * The host has one copy of weights and state. When the host changes it, it is sent to all ranks; it
 * is fetched from the first one. An idle thread polls its device every 50 ms, so that it notices
 * when a rank has failed and aborts its communicator.
 *
 * With several processes (cluster.h), MPI only distributes NCCL's unique ID. NCCL's function that
 * joins a process group waits for all ranks, so it is called by a thread of its own while this one
 * polls whether the cluster has failed. Later the device asks the cluster while it waits for a
 * collective. */

#include "engine/execution/internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads/condition.h"
#include "base/threads/thread.h"
#include "engine/cluster/cluster.h"
#include "engine/devices/device_backend.h"
#include "engine/devices/device_buffer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { POLL_NANOSECONDS = 50000000 };

struct rank {
    struct communicator_nccl *group;
    struct execution *execution;
    size_t number; /* 0, 1, ... in this process: also which micro-batch */
    struct weights
        weights; /* not rank 0: borrows rank 0's host values, has another device buffer */
    pthread_t thread;
    float loss;
    const float *output;
    size_t not_finite; /* the first step with values that are not finite */
    bool in_weights;
};

/* The process group of GPUs of which each belongs to another process. */
struct joining {
    struct device *device;
    struct device_process_group group;
    pthread_t thread;
    atomic_bool over; /* the thread has called NCCL */
    bool good;        /* it has joined the group */
    struct error error;
    bool abandoned; /* the cluster failed meanwhile, and the thread may wait for ever */
};

struct communicator_nccl {
    struct rank ranks[DEVICE_MAX_RANKS]; /* the execution of rank 0 is the caller's */
    size_t count, threads;               /* ranks of this process; threads that were started */
    bool joined;                         /* the GPU has joined a process group */
    struct joining joining;              /* with several processes */
    uint64_t weights_seen;               /* the version of the host's weights that all ranks have */
    float *output;                       /* host; allocated on first use */

    /* The work that all ranks do; it does not change while they do it. */
    void (*work)(struct rank *rank);
    struct execution_batch batch; /* of this process */
    uint64_t iteration;
    float learning_rate;

    pthread_mutex_t lock; /* guards the members below */
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
    struct communicator_nccl *group = rank->group;
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
    struct communicator_nccl *group = rank->group;
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

/* Calls work() for every rank of this process, in the rank's thread; returns when all calls have
 * returned. */
static void work_all(struct communicator_nccl *group, void (*work)(struct rank *rank))
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

static void make_lock(struct communicator_nccl *group)
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
    rank->execution = execution_make(first->memory, NULL, first->plan, device, &rank->weights,
                                     &first->solver, seed, (struct execution *)first, error);
    return rank->execution;
}

static bool make_ranks(struct communicator_nccl *group, struct execution *first, uint64_t seed,
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

/* Returns whether the other processes are well; the device calls it while it waits for the GPU, and
 * thus for theirs. */
static bool is_sound(void *owner)
{
    cluster_note_wait(owner);
    return cluster_check(owner, NULL);
}

static void prepare_joining(struct communicator_nccl *group, const struct execution *first)
{
    struct cluster *cluster = first->device->cluster;
    group->joining.device = first->device;
    group->joining.group = (struct device_process_group){.rank = cluster_rank(cluster),
                                                         .ranks = first->plan->ranks,
                                                         .is_sound = is_sound,
                                                         .owner = cluster};
}

static bool create(struct execution *first, uint64_t seed, struct error *error)
{
    struct device *device = first->device;
    struct communicator_nccl *group = memory_new(1, sizeof *group, "the execution", error);
    if (!group)
        return false;
    make_lock(group);
    first->nccl = group;
    group->count = device->other_count + 1;
    group->weights_seen = first->weights->buffer->changes;
    assert(!first->plan->frozen);
    if (group->count == 1) /* the others are in other processes */
        prepare_joining(group, first);
    else if (!(group->joined = device->driver->backend->join(device, error)))
        return false;
    return weights_fetch(first->weights, error) && make_ranks(group, first, seed, error);
}

static void end_threads(struct communicator_nccl *group)
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

/* Ends the threads, and frees the other ranks: their recordings before the process group that they
 * belong to. Returns false if NCCL may still use the GPU. */
static bool stop(struct execution *first)
{
    struct communicator_nccl *group = first->nccl;
    if (!group)
        return true;
    end_threads(group);
    for (size_t i = 1; i < group->count; i++) {
        struct rank *rank = &group->ranks[i];
        if (rank->execution)
            execution_free(rank->execution);
        device_buffer_free(rank->weights.buffer);
    }
    return !group->joining.abandoned;
}

static void release(struct execution *first)
{
    struct communicator_nccl *group = first->nccl;
    if (group && group->joined)
        first->device->driver->backend->leave(first->device);
    if (group)
        free(group->output);
    free(group);
}

/* --- joining the GPUs of other processes --- */

static void *join_main(void *context)
{
    struct joining *joining = context;
    const struct device_backend *backend = joining->device->driver->backend;
    joining->good = backend->join_processes(joining->device, &joining->group, &joining->error);
    atomic_store(&joining->over, true);
    return NULL;
}

/* Calls NCCL, and waits until it returns or the cluster fails. */
static bool join_watched(struct joining *joining, struct error *error)
{
    struct cluster *cluster = joining->device->cluster;
    if (thread_start(&joining->thread, join_main, joining) != 0)
        return error_set(error, ERROR_SYSTEM, joining->device->name, "raise the limit on threads",
                         "its thread could not be started");
    while (!atomic_load(&joining->over)) {
        if (!cluster_check(cluster, error)) {
            joining->abandoned = true;
            pthread_detach(joining->thread);
            return false;
        }
        clock_sleep(0.001);
    }
    pthread_join(joining->thread, NULL);
    if (!joining->good && error)
        *error = joining->error;
    return joining->good;
}

/* Lets all processes fail with the error of the first that has failed, which gets the rank's name.
 */
static bool agree(struct cluster *cluster, bool good, struct error *error)
{
    char what[sizeof error->what];
    const size_t rank = cluster_rank(cluster);
    if (!good && rank > 0) {
        snprintf(what, sizeof what, "rank %zu on %s: %.150s", rank, cluster_host(cluster, rank),
                 error->what);
        memcpy(error->what, what, sizeof what);
    }
    return cluster_agree(cluster, good, error);
}

static bool join(struct execution *execution, struct error *error)
{
    struct communicator_nccl *group = execution->nccl;
    struct joining *joining = &group->joining;
    struct device *device = execution->device;
    struct cluster *cluster = device->cluster;
    unsigned char *id = joining->group.id;
    if (!joining->device)
        return true;
    const bool made =
        device->driver->backend->make_group_id(device, joining->group.rank ? NULL : id, error);
    if (!agree(cluster, made, error))
        return false;
    if (!cluster_broadcast(cluster, id, DEVICE_GROUP_ID)) {
        cluster_check(cluster, error);
        return false;
    }
    group->joined = join_watched(joining, error);
    if (!group->joined && !joining->abandoned) /* the others may still wait for this one */
        cluster_fail(cluster, error);
    return group->joined;
}

/* --- batches --- */

static void bind_micro_batch(struct rank *rank)
{
    const struct execution_batch *whole = &rank->group->batch;
    const struct graph *graph = rank->execution->plan->graph;
    const size_t count = whole->count / rank->group->count, from = rank->number * count;
    const size_t image = from * shape_count(graph->nodes[0].output);
    const size_t target = from * shape_count(graph->nodes[graph->output].output);
    struct execution_batch own = *whole;
    own.count = count;
    if (whole->images)
        own.images = whole->images + image;
    if (whole->image_samples)
        own.image_samples = whole->image_samples + image;
    if (whole->labels)
        own.labels = whole->labels + from;
    if (whole->soft_targets)
        own.soft_targets = whole->soft_targets + from;
    if (whole->targets)
        own.targets = whole->targets + target;
    if (whole->target_samples)
        own.target_samples = whole->target_samples + target;
    rank->execution->memory->bind(rank->execution, &own);
}

static void bind(struct execution *first, const struct execution_batch *batch)
{
    assert(batch->count % first->nccl->count == 0);
    first->nccl->batch = *batch;
    work_all(first->nccl, bind_micro_batch);
}

/* --- passes --- */

/* Marks the weights of all ranks as outdated if the host's have changed since the last call. */
static void share_weights(struct execution *first)
{
    struct communicator_nccl *group = first->nccl;
    const uint64_t changes = first->weights->buffer->changes;
    for (size_t i = 1; changes != group->weights_seen && i < group->count; i++)
        weights_mark_changed(&group->ranks[i].weights);
    group->weights_seen = changes;
}

static void run_forward(struct rank *rank)
{
    rank->execution->memory->forward(rank->execution, rank->group->iteration);
}

static void run_backward(struct rank *rank)
{
    rank->execution->memory->backward(rank->execution);
}

static void run_update(struct rank *rank)
{
    rank->execution->memory->update(rank->execution, rank->group->learning_rate);
}

static void run_iteration(struct rank *rank)
{
    rank->loss = rank->execution->memory->iterate(rank->execution, rank->group->iteration,
                                                  rank->group->learning_rate);
}

static void run_wait(struct rank *rank)
{
    rank->execution->memory->wait(rank->execution);
}

static void forward(struct execution *first, uint64_t iteration)
{
    share_weights(first);
    first->memory->settle(first);
    first->nccl->iteration = iteration;
    work_all(first->nccl, run_forward);
}

static void backward(struct execution *first)
{
    work_all(first->nccl, run_backward);
}

static void update(struct execution *first, float learning_rate)
{
    first->nccl->learning_rate = learning_rate;
    work_all(first->nccl, run_update);
}

static float iterate(struct execution *first, uint64_t iteration, float learning_rate)
{
    struct communicator_nccl *group = first->nccl;
    share_weights(first);
    first->memory->settle(first);
    group->iteration = iteration;
    group->learning_rate = learning_rate;
    work_all(group, run_iteration);
    return group->ranks[0].loss;
}

static void wait_all(struct execution *first)
{
    work_all(first->nccl, run_wait);
}

static void touch(struct execution *first)
{
    for (size_t i = 0; i < first->nccl->count; i++)
        first->memory->touch(first->nccl->ranks[i].execution);
}

/* --- results --- */

static void fetch_output(struct rank *rank)
{
    rank->output = rank->execution->memory->output(rank->execution);
}

/* Returns the outputs of the ranks of this process, concatenated; NULL if out of memory. */
static const float *output(const struct execution *first)
{
    struct communicator_nccl *group = first->nccl;
    const struct graph *graph = first->plan->graph;
    const size_t values = shape_count(graph->nodes[graph->output].output);
    const size_t own = first->batch.count * values;
    if (group->count == 1)
        return first->memory->output(first);
    if (!group->output)
        group->output = memory_new_aligned(group->count * first->plan->batch * values,
                                           sizeof *group->output, "the network's output", NULL);
    work_all(group, fetch_output);
    for (size_t i = 0; group->output && i < group->count; i++)
        memcpy(group->output + i * own, group->ranks[i].output, own * sizeof *group->output);
    return group->output;
}

/* Runs a rank's forward pass on its micro-batch, without collectives: batch norm uses the
 * statistics of the micro-batch. */
static void find_own(struct rank *rank)
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
    struct communicator_nccl *group = first->nccl;
    const struct rank *earliest = &group->ranks[0];
    group->iteration = iteration;
    work_all(group, find_own);
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

const struct execution_communicator communicator_nccl = {
    .create = create,
    .join = join,
    .stop = stop,
    .free = release,
    .bind = bind,
    .forward = forward,
    .backward = backward,
    .update = update,
    .iterate = iterate,
    .wait = wait_all,
    .output = output,
    .touch = touch,
    .find_not_finite = find_not_finite,
};
