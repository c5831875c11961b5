/* Process groups: several GPUs that share every batch, with collectives of NVIDIA's library NCCL.
 *
 * NCCL is loaded when the first group is made, so that the module can be loaded without it; only
 * its header is needed to compile. Each rank has a thread, which enqueues its collectives on its
 * stream, where they become part of its captured graph.
 *
 * A collective waits for all ranks. If a rank fails, the others must not wait for it: it sets
 * `failed`, enqueues nothing more, and aborts its communicator. Every thread that waits for a GPU
 * of a group polls `failed` and does the same. */
#include "config.h"

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/launch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef HAVE_NCCL
#include <nccl.h>
#else
typedef struct ncclComm *ncclComm_t;
#endif

enum { PATIENCE = 200, NAP_NANOSECONDS = 20000 };

struct cuda_group {
    size_t count;
    int failed; /* a rank has failed; read and written by all threads */
    ncclComm_t communicators[DEVICE_MAX_RANKS]; /* NULL: aborted */
    struct cuda_context *ranks[DEVICE_MAX_RANKS];
};

static bool is_deserted(const struct cuda_group *group)
{
    return __atomic_load_n(&group->failed, __ATOMIC_ACQUIRE);
}

void cuda_fail_group(struct cuda_context *context)
{
    if (context->group)
        __atomic_store_n(&context->group->failed, 1, __ATOMIC_RELEASE);
}

bool cuda_group_is_sound(struct cuda_context *context)
{
    if (!context->group)
        return true;
    if (context->failure[0] && !context->recording)
        cuda_fail_group(context);
    return !is_deserted(context->group);
}

size_t cuda_rank_count(const struct cuda_context *context)
{
    return context->group && !context->alone ? context->group->count : 1;
}

void cuda_set_standalone(struct device *device, bool alone)
{
    ((struct cuda_context *)device->state)->alone = alone;
}

#ifdef HAVE_NCCL

/* --- the library --- */

static struct {
    decltype(&ncclCommInitAll) init;
    decltype(&ncclCommDestroy) destroy;
    decltype(&ncclCommAbort) abort;
    decltype(&ncclCommGetAsyncError) error;
    decltype(&ncclAllGather) all_gather;
    decltype(&ncclAllReduce) reduce;
    decltype(&ncclGetErrorString) words;
    bool loaded;
    char missing[256]; /* why it could not be loaded */
} nccl;

static void note_missing(const char *name)
{
    const char *why = dlerror();
    snprintf(nccl.missing, sizeof nccl.missing, "%s", why ? why : name);
}

template <class F> static void find_function(void *library, const char *name, F *function)
{
    *function = (F)dlsym(library, name);
    if (!*function)
        note_missing(name);
}

static void load_nccl(void)
{
    nccl.missing[0] = '\0';
    void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        note_missing("libnccl.so.2");
        return;
    }
    find_function(library, "ncclCommInitAll", &nccl.init);
    find_function(library, "ncclCommDestroy", &nccl.destroy);
    find_function(library, "ncclCommAbort", &nccl.abort);
    find_function(library, "ncclCommGetAsyncError", &nccl.error);
    find_function(library, "ncclAllGather", &nccl.all_gather);
    find_function(library, "ncclAllReduce", &nccl.reduce);
    find_function(library, "ncclGetErrorString", &nccl.words);
    nccl.loaded = nccl.missing[0] == '\0';
}

/* Loads NCCL. If it was missing before, tries once more: it may have been installed since. */
static bool has_nccl(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!nccl.loaded)
        load_nccl();
    const bool loaded = nccl.loaded;
    pthread_mutex_unlock(&lock);
    return loaded;
}

/* Records a failure of NCCL, unless another rank has failed: that rank reports the cause. */
static void note_nccl(struct cuda_context *context, const char *what, ncclResult_t result)
{
    if (result != ncclSuccess && result != ncclInProgress && !is_deserted(context->group))
        cuda_note_words(context, CUDA_BROKEN, what, nccl.words(result));
}

/* --- creating a group --- */

static bool report_trouble(struct cuda_report *report, enum cuda_trouble trouble, const char *text)
{
    *report = {};
    report->trouble = trouble;
    snprintf(report->text, sizeof report->text, "%s", text);
    return trouble == CUDA_FINE;
}

static void take_places(struct cuda_group *group, void *const *states)
{
    for (size_t i = 0; i < group->count; i++) {
        group->ranks[i] = (struct cuda_context *)states[i];
        group->ranks[i]->group = group;
        group->ranks[i]->rank = i;
    }
}

bool cuda_join_group(void *const *states, size_t count, struct cuda_report *report)
{
    int ordinals[DEVICE_MAX_RANKS];
    if (!has_nccl())
        return report_trouble(report, CUDA_NO_NCCL, nccl.missing);
    struct cuda_group *group = (struct cuda_group *)calloc(1, sizeof *group);
    if (!group)
        return report_trouble(report, CUDA_NOT_JOINED, "no memory is left");
    group->count = count;
    for (size_t i = 0; i < count; i++)
        ordinals[i] = ((const struct cuda_context *)states[i])->ordinal;
    const ncclResult_t result = nccl.init(group->communicators, (int)count, ordinals);
    if (result != ncclSuccess) {
        free(group);
        return report_trouble(report, CUDA_NOT_JOINED, nccl.words(result));
    }
    take_places(group, states);
    return report_trouble(report, CUDA_FINE, "");
}

/* Aborts the communicator, which also ends collectives that are running. */
static void give_up(struct cuda_context *context)
{
    ncclComm_t *own = &context->group->communicators[context->rank];
    if (*own)
        nccl.abort(*own);
    *own = NULL;
}

void cuda_leave_group(struct device *device)
{
    struct cuda_group *group = ((struct cuda_context *)device->state)->group;
    for (size_t i = 0; i < group->count; i++) {
        struct cuda_context *context = group->ranks[i];
        cuda_enter(context);
        if (is_deserted(group))
            give_up(context);
        else
            nccl.destroy(group->communicators[i]);
    }
    for (size_t i = 0; i < group->count; i++) {
        group->ranks[i]->group = NULL;
        group->ranks[i]->rank = 0;
    }
    free(group);
}

/* --- collectives --- */

void cuda_all_gather(struct cuda_context *context, const char *what, void *all, const void *own,
                     size_t bytes)
{
    if (cuda_rank_count(context) > 1 && cuda_group_is_sound(context))
        note_nccl(context, what,
                  nccl.all_gather(own, all, bytes, ncclUint8,
                                  context->group->communicators[context->rank], context->stream));
}

void cuda_all_reduce_mean(struct cuda_context *context, float *values, size_t count)
{
    if (cuda_rank_count(context) > 1 && cuda_group_is_sound(context))
        note_nccl(context, "the gradients of all GPUs",
                  nccl.reduce(values, values, count, ncclFloat32, ncclAvg,
                              context->group->communicators[context->rank], context->stream));
}

/* --- waiting --- */

static void check_group(struct cuda_context *context)
{
    ncclComm_t own = context->group->communicators[context->rank];
    ncclResult_t result = ncclSuccess;
    if (own && nccl.error(own, &result) == ncclSuccess)
        note_nccl(context, "NCCL", result);
    if (!cuda_group_is_sound(context))
        give_up(context);
}

void cuda_poll(struct device *device)
{
    struct cuda_context *context = (struct cuda_context *)device->state;
    cuda_enter(context);
    const cudaError_t status = cudaStreamQuery(context->stream);
    if (status != cudaErrorNotReady)
        cuda_note(context, "waiting for a GPU", status);
    check_group(context);
}

#else

bool cuda_join_group(void *const *, size_t, struct cuda_report *report)
{
    *report = {};
    report->trouble = CUDA_NO_NCCL;
    return false;
}

void cuda_leave_group(struct device *)
{
}

void cuda_all_gather(struct cuda_context *, const char *, void *, const void *, size_t)
{
}

void cuda_all_reduce_mean(struct cuda_context *, float *, size_t)
{
}

void cuda_poll(struct device *)
{
}

static void check_group(struct cuda_context *)
{
}

#endif

/* Waits; at first without sleeping, because the work is often nearly done. */
static void rest(size_t tries)
{
    const struct timespec nap = {0, NAP_NANOSECONDS};
    if (tries < PATIENCE)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

template <class Handle>
static cudaError_t wait_for(struct cuda_context *context, cudaError_t (*query)(Handle),
                            Handle handle)
{
    cudaError_t status = query(handle);
    for (size_t tries = 0; status == cudaErrorNotReady; tries++) {
        check_group(context);
        rest(tries);
        status = query(handle);
    }
    return status;
}

cudaError_t cuda_wait_event(struct cuda_context *context, cudaEvent_t event)
{
    return context->group ? wait_for(context, cudaEventQuery, event) : cudaEventSynchronize(event);
}

cudaError_t cuda_wait_stream(struct cuda_context *context, cudaStream_t stream)
{
    return context->group ? wait_for(context, cudaStreamQuery, stream)
                          : cudaStreamSynchronize(stream);
}
