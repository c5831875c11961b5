/* The backend of GPUs of which each belongs to another process (cluster.h): what backend_group.c
 * does with a thread for each GPU, these processes do with one GPU each. The GPUs form a process
 * group of NCCL, which gathers statistics and losses and averages the gradients; MPI only
 * distributes NCCL's unique ID.
 *
 * NCCL's function that joins a group waits for all ranks, so it is called by a thread of its own
 * while this one looks whether the cluster has failed. Later the device asks the cluster while it
 * waits for a collective. */
#include "engine/execution/passes.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "engine/cluster/cluster.h"
#include "engine/devices/device_backend.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct backend_joined {
    struct device *device;
    struct device_process_group group;
    pthread_t thread;
    atomic_bool over; /* the thread has called NCCL */
    bool good;        /* it has joined the group */
    struct error error;
    bool abandoned; /* the cluster failed meanwhile, and the thread may wait for ever */
};

/* --- creation --- */

/* The device asks while it waits for the GPU, and thus for those of other ranks. */
static bool is_sound(void *owner)
{
    cluster_note_wait(owner);
    return cluster_check(owner, NULL);
}

static bool create(struct execution *execution, uint64_t seed, struct error *error)
{
    struct cluster *cluster = execution->device->cluster;
    struct backend_joined *joined = memory_new(1, sizeof *joined, "the execution", error);
    execution->joined = joined;
    if (!joined)
        return false;
    joined->device = execution->device;
    joined->group = (struct device_process_group){.rank = cluster_rank(cluster),
                                                  .ranks = execution->plan->ranks,
                                                  .is_sound = is_sound,
                                                  .owner = cluster};
    return backend_device_create(execution, seed, error);
}

static void release(struct execution *execution)
{
    struct backend_joined *joined = execution->joined;
    const struct device_backend *backend = execution->device->driver->backend;
    if (joined && joined->abandoned)
        return; /* NCCL may still use the GPU */
    backend_device_free(execution);
    if (joined && joined->good)
        backend->leave(execution->device);
    free(joined);
}

/* --- joining --- */

static void *join_main(void *context)
{
    struct backend_joined *joined = context;
    const struct device_backend *backend = joined->device->driver->backend;
    joined->good = backend->join_processes(joined->device, &joined->group, &joined->error);
    atomic_store(&joined->over, true);
    return NULL;
}

/* Calls NCCL, and waits until it returns or the cluster fails. */
static bool join_watched(struct backend_joined *joined, struct error *error)
{
    struct cluster *cluster = joined->device->cluster;
    if (thread_start(&joined->thread, join_main, joined) != 0)
        return error_set(error, ERROR_SYSTEM, joined->device->name, "raise the limit on threads",
                         "its thread could not be started");
    while (!atomic_load(&joined->over)) {
        if (!cluster_check(cluster, error)) {
            joined->abandoned = true;
            pthread_detach(joined->thread);
            return false;
        }
        clock_sleep(0.001);
    }
    pthread_join(joined->thread, NULL);
    if (!joined->good && error)
        *error = joined->error;
    return joined->good;
}

/* Lets all ranks fail with the error of the first that has failed, which gets the rank's name. */
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

bool backend_joined_join(struct execution *execution, struct error *error)
{
    struct backend_joined *joined = execution->joined;
    struct device *device = execution->device;
    struct cluster *cluster = device->cluster;
    const struct device_backend *backend = device->driver->backend;
    unsigned char *id = joined->group.id;
    const bool made = backend->make_group_id(device, joined->group.rank ? NULL : id, error);
    if (!agree(cluster, made, error))
        return false;
    if (!cluster_broadcast(cluster, id, DEVICE_GROUP_ID)) {
        cluster_check(cluster, error);
        return false;
    }
    if (join_watched(joined, error))
        return true;
    if (!joined->abandoned) /* the others may still wait for this one */
        cluster_fail(cluster, error);
    return false;
}

/* --- passes --- */

/* Runs an iteration with a profile, which only some ranks may have: all ranks enqueue the same
 * collectives, even if the loss is not finite. Then no rank updates its weights. */
static float iterate_measured(struct execution *execution, uint64_t iteration, float learning_rate)
{
    backend_device_forward(execution, iteration);
    const float loss = execution_loss(execution);
    backend_device_backward(execution);
    if (isfinite(loss))
        execution_update(execution, learning_rate);
    return loss;
}

static float iterate(struct execution *execution, uint64_t iteration, float learning_rate)
{
    return execution->profile ? iterate_measured(execution, iteration, learning_rate)
                              : backend_device_iterate(execution, iteration, learning_rate);
}

/* Returns the first step whose values are not finite in this process's part of the batch; the GPUs
 * of the others take no part. */
static size_t find_not_finite(struct execution *execution, uint64_t iteration, bool *in_weights)
{
    struct device *device = execution->device;
    const struct device_backend *backend = device->driver->backend;
    backend->set_standalone(device, true);
    const size_t step = execution_run_until_not_finite(execution, iteration, in_weights);
    backend->wait(device);
    backend->set_standalone(device, false);
    return step;
}

const struct execution_backend backend_joined = {
    .reserve = backend_device_reserve,
    .create = create,
    .free = release,
    .bind = backend_device_bind,
    .forward = backend_device_forward,
    .backward = backend_device_backward,
    .update = backend_device_update,
    .iterate = iterate,
    .wait = backend_device_wait,
    .output = backend_device_output,
    .gradients = backend_device_gradients,
    .solver_state = backend_device_solver_state,
    .fetch = backend_device_fetch,
    .touch = backend_device_touch,
    .mix_gradients = backend_device_mix_gradients,
    .losses = backend_device_losses,
    .all_finite = backend_device_all_finite,
    .find_not_finite = find_not_finite,
    .begin_call = backend_device_begin_call,
    .end_call = backend_device_end_call,
    .end_pass = backend_device_end_pass,
};
