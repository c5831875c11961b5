/* Process groups: several GPUs that share every batch, with collectives of NVIDIA's library NCCL.
 * They belong to one process, which has a thread for each, or each to another process; then the
 * processes know each other by MPI, which distributes NCCL's unique ID.
 *
 * NCCL is loaded when the first group is made, so that the module works without it; only its header
 * is needed to compile. Each rank has a thread, which enqueues collectives on the rank's stream. In
 * a capture they become part of the rank's CUDA graph.
 *
 * A collective waits for all ranks. If a rank fails, the others must not wait for it: the failed
 * rank sets `failed`, enqueues no more collectives, and aborts its communicator. A thread that
 * waits for a GPU of the group polls `failed`, and whether the other processes are well, and then
 * does the same. */
#include "config.h"

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/launch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_NCCL
#include <nccl.h>
#else
typedef struct ncclComm *ncclComm_t;
#endif

enum { SPIN_POLLS = 200, SLEEP_NANOSECONDS = 20000 };

struct cuda_group {
    size_t count;   /* ranks */
    size_t members; /* ranks of this process, by which the arrays are indexed */
    int failed;     /* a rank has failed; read and written by all threads */
    ncclComm_t communicators[DEVICE_MAX_RANKS]; /* NULL: aborted */
    struct cuda_context *ranks[DEVICE_MAX_RANKS];
    bool (*is_sound)(void *owner); /* whether the other processes are well; NULL: there are none */
    void *owner;
};

static bool has_failed(const struct cuda_group *group)
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
    if (context->group->is_sound && !context->group->is_sound(context->group->owner))
        cuda_fail_group(context);
    return !has_failed(context->group);
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
    decltype(&ncclGetUniqueId) unique_id;
    decltype(&ncclCommInitRank) init_rank;
    decltype(&ncclCommDestroy) destroy;
    decltype(&ncclCommAbort) abort;
    decltype(&ncclCommGetAsyncError) error;
    decltype(&ncclAllGather) all_gather;
    decltype(&ncclAllReduce) reduce;
    decltype(&ncclGetErrorString) error_text;
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
    find_function(library, "ncclGetUniqueId", &nccl.unique_id);
    find_function(library, "ncclCommInitRank", &nccl.init_rank);
    find_function(library, "ncclCommDestroy", &nccl.destroy);
    find_function(library, "ncclCommAbort", &nccl.abort);
    find_function(library, "ncclCommGetAsyncError", &nccl.error);
    find_function(library, "ncclAllGather", &nccl.all_gather);
    find_function(library, "ncclAllReduce", &nccl.reduce);
    find_function(library, "ncclGetErrorString", &nccl.error_text);
    nccl.loaded = nccl.missing[0] == '\0';
}

/* Loads NCCL and returns whether that worked. Tries at every call until it works, because NCCL may
 * be installed meanwhile. */
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

/* Records a failure of NCCL, unless a rank has failed before: that rank reports the cause. */
static void note_nccl(struct cuda_context *context, const char *what, ncclResult_t result)
{
    if (result != ncclSuccess && result != ncclInProgress && !has_failed(context->group))
        cuda_note_words(context, CUDA_BROKEN, what, nccl.error_text(result));
}

/* --- creating a group --- */

static bool report_kind(struct cuda_report *report, enum cuda_failure_kind failure_kind,
                        const char *text)
{
    *report = {};
    report->failure_kind = failure_kind;
    snprintf(report->text, sizeof report->text, "%s", text);
    return failure_kind == CUDA_FINE;
}

static void assign_ranks(struct cuda_group *group, void *const *states)
{
    for (size_t i = 0; i < group->members; i++) {
        group->ranks[i] = (struct cuda_context *)states[i];
        group->ranks[i]->group = group;
        group->ranks[i]->rank = i;
        group->ranks[i]->member = i;
    }
}

bool cuda_join_group(void *const *states, size_t count, struct cuda_report *report)
{
    int ordinals[DEVICE_MAX_RANKS];
    if (!has_nccl())
        return report_kind(report, CUDA_NO_NCCL, nccl.missing);
    struct cuda_group *group = (struct cuda_group *)calloc(1, sizeof *group);
    if (!group)
        return report_kind(report, CUDA_NOT_JOINED, "no memory is left");
    group->count = group->members = count;
    for (size_t i = 0; i < count; i++)
        ordinals[i] = ((const struct cuda_context *)states[i])->ordinal;
    const ncclResult_t result = nccl.init(group->communicators, (int)count, ordinals);
    if (result != ncclSuccess) {
        free(group);
        return report_kind(report, CUDA_NOT_JOINED, nccl.error_text(result));
    }
    assign_ranks(group, states);
    return report_kind(report, CUDA_FINE, "");
}

bool cuda_make_group_id(unsigned char *id, struct cuda_report *report)
{
    ncclUniqueId made;
    static_assert(sizeof made == DEVICE_GROUP_ID, "the size of NCCL's unique ID");
    if (!has_nccl())
        return report_kind(report, CUDA_NO_NCCL, nccl.missing);
    if (!id)
        return report_kind(report, CUDA_FINE, "");
    const ncclResult_t result = nccl.unique_id(&made);
    if (result != ncclSuccess)
        return report_kind(report, CUDA_NOT_JOINED, nccl.error_text(result));
    memcpy(id, &made, sizeof made);
    return report_kind(report, CUDA_FINE, "");
}

bool cuda_join_processes(void *state, const struct device_process_group *processes,
                         struct cuda_report *report)
{
    struct cuda_context *context = (struct cuda_context *)state;
    ncclUniqueId id;
    if (!has_nccl())
        return report_kind(report, CUDA_NO_NCCL, nccl.missing);
    struct cuda_group *group = (struct cuda_group *)calloc(1, sizeof *group);
    if (!group)
        return report_kind(report, CUDA_NOT_JOINED, "no memory is left");
    memcpy(&id, processes->id, sizeof id);
    cuda_enter(context);
    const ncclResult_t result =
        nccl.init_rank(&group->communicators[0], (int)processes->ranks, id, (int)processes->rank);
    if (result != ncclSuccess) {
        free(group);
        return report_kind(report, CUDA_NOT_JOINED, nccl.error_text(result));
    }
    group->count = processes->ranks;
    group->members = 1;
    group->is_sound = processes->is_sound;
    group->owner = processes->owner;
    assign_ranks(group, &state);
    context->rank = processes->rank;
    return report_kind(report, CUDA_FINE, "");
}

/* Aborts this rank's communicator, which also ends collectives that are running. */
static void abort_communicator(struct cuda_context *context)
{
    ncclComm_t *communicator = &context->group->communicators[context->member];
    if (*communicator)
        nccl.abort(*communicator);
    *communicator = NULL;
}

void cuda_leave_group(struct device *device)
{
    struct cuda_group *group = ((struct cuda_context *)device->state)->group;
    for (size_t i = 0; i < group->members; i++) {
        struct cuda_context *context = group->ranks[i];
        cuda_enter(context);
        if (has_failed(group))
            abort_communicator(context);
        else
            nccl.destroy(group->communicators[i]);
    }
    for (size_t i = 0; i < group->members; i++) {
        group->ranks[i]->group = NULL;
        group->ranks[i]->rank = group->ranks[i]->member = 0;
    }
    free(group);
}

/* --- collectives --- */

void cuda_all_gather(struct cuda_context *context, const char *what, void *all, const void *local,
                     size_t bytes)
{
    if (cuda_rank_count(context) > 1 && cuda_group_is_sound(context))
        note_nccl(context, what,
                  nccl.all_gather(local, all, bytes, ncclUint8,
                                  context->group->communicators[context->member], context->stream));
}

void cuda_all_reduce_mean(struct cuda_context *context, float *values, size_t count)
{
    if (cuda_rank_count(context) > 1 && cuda_group_is_sound(context))
        note_nccl(context, "the gradients of all GPUs",
                  nccl.reduce(values, values, count, ncclFloat32, ncclAvg,
                              context->group->communicators[context->member], context->stream));
}

/* --- waiting --- */

static void check_group(struct cuda_context *context)
{
    ncclComm_t communicator = context->group->communicators[context->member];
    ncclResult_t result = ncclSuccess;
    if (communicator && nccl.error(communicator, &result) == ncclSuccess)
        note_nccl(context, "NCCL", result);
    if (!cuda_group_is_sound(context))
        abort_communicator(context);
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
    report->failure_kind = CUDA_NO_NCCL;
    return false;
}

bool cuda_make_group_id(unsigned char *, struct cuda_report *report)
{
    return cuda_join_group(NULL, 0, report);
}

bool cuda_join_processes(void *, const struct device_process_group *, struct cuda_report *report)
{
    return cuda_join_group(NULL, 0, report);
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

/* Waits between two polls; the first times without sleeping, because the work is often nearly done.
 */
static void pause_between_polls(size_t tries)
{
    const struct timespec duration = {0, SLEEP_NANOSECONDS};
    if (tries < SPIN_POLLS)
        sched_yield();
    else
        nanosleep(&duration, NULL);
}

template <class Handle>
static cudaError_t wait_for(struct cuda_context *context, cudaError_t (*query)(Handle),
                            Handle handle)
{
    cudaError_t status = query(handle);
    for (size_t tries = 0; status == cudaErrorNotReady; tries++) {
        check_group(context);
        pause_between_polls(tries);
        status = query(handle);
    }
    return status;
}

cudaError_t cuda_wait_event(struct cuda_context *context, cudaEvent_t event)
{
    cuda_gate_open(context);
    return context->group ? wait_for(context, cudaEventQuery, event) : cudaEventSynchronize(event);
}

cudaError_t cuda_wait_stream(struct cuda_context *context, cudaStream_t stream)
{
    cuda_gate_open(context);
    return context->group ? wait_for(context, cudaStreamQuery, stream)
                          : cudaStreamSynchronize(stream);
}

void cuda_await_event(struct cuda_context *context, cudaEvent_t event)
{
    if (!context->group) {
        cudaEventSynchronize(event);
        return;
    }
    for (size_t tries = 0; cudaEventQuery(event) == cudaErrorNotReady; tries++) {
        if (!cuda_group_is_sound(context))
            return;
        pause_between_polls(tries);
    }
}
