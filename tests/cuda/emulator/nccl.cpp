/* Collectives of several emulated GPUs. Each GPU joins a collective when its stream reaches it, and
 * waits; the last one computes it for all of them, and then all continue.
 *
 * GPUs of several processes share a piece of memory (nccl_processes.cpp). */
#include "nccl.h"

#include "libraries.h"
#include "nccl_processes.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

struct emulated_group {
    std::vector<emulated_communicator *> members;
    size_t come, rounds, left; /* the number of members that are not destroyed yet */
};
struct emulated_communicator {
    emulated_group *group;
    size_t number, rounds; /* the number of the collective it has joined */
    bool has_come, aborted;
    shared_group *shared; /* with GPUs of other processes; then `group` is NULL */
    std::shared_ptr<std::atomic<bool>> left;
    collective what;
};

static bool hidden, join_fails;
static size_t open_communicators;

void emulator_hide_nccl(bool hide)
{
    hidden = hide;
}

void emulator_fail_join(bool fail)
{
    join_fails = fail;
}

size_t emulator_communicators(void)
{
    return open_communicators;
}

/* --- the library as a file --- */

bool emulator_nccl_is_there(const char *name)
{
    return !hidden && strcmp(name, "libnccl.so.2") == 0;
}

const struct emulated_function emulator_nccl_functions[] = {
    {"ncclCommInitAll", (void *)ncclCommInitAll},
    {"ncclGetUniqueId", (void *)ncclGetUniqueId},
    {"ncclCommInitRank", (void *)ncclCommInitRank},
    {"ncclCommDestroy", (void *)ncclCommDestroy},
    {"ncclCommAbort", (void *)ncclCommAbort},
    {"ncclCommGetAsyncError", (void *)ncclCommGetAsyncError},
    {"ncclAllGather", (void *)ncclAllGather},
    {"ncclAllReduce", (void *)ncclAllReduce},
    {"ncclGetErrorString", (void *)ncclGetErrorString},
    {nullptr, nullptr}};

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "an emulated NCCL refused";
}

/* --- communicators --- */

ncclResult_t ncclCommInitAll(ncclComm_t *communicators, int count, const int *gpus)
{
    emulator_guard guard(emulator_lock);
    if (join_fails)
        return ncclUnhandledCudaError;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < i; k++)
            if (gpus[i] == gpus[k])
                return ncclInvalidArgument;
    emulated_group *group = new emulated_group();
    for (int i = 0; i < count; i++) {
        communicators[i] = new emulated_communicator();
        communicators[i]->group = group;
        communicators[i]->number = (size_t)i;
        group->members.push_back(communicators[i]);
    }
    group->left = (size_t)count;
    open_communicators += (size_t)count;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    return shared_group_name(id->internal, sizeof id->internal) ? ncclSuccess
                                                                : ncclUnhandledCudaError;
}

/* Lets streams go on as a GPU does: other processes wait for this one's collectives while it waits
 * for their messages. */
static void keep_advancing(const std::shared_ptr<std::atomic<bool>> &left)
{
    while (!*left) {
        emulator_advance();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

/* Waits for the other processes without the lock. */
ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks, ncclUniqueId id, int rank)
{
    if (join_fails)
        return ncclUnhandledCudaError;
    shared_group *shared =
        shared_group_join(id.internal, (size_t)ranks, (size_t)rank, emulator_host_gpu());
    if (!shared)
        return ncclInvalidArgument;
    emulator_guard guard(emulator_lock);
    *communicator = new emulated_communicator();
    (*communicator)->number = (size_t)rank;
    (*communicator)->shared = shared;
    (*communicator)->left = std::make_shared<std::atomic<bool>>(false);
    std::thread(keep_advancing, (*communicator)->left).detach();
    open_communicators++;
    return ncclSuccess;
}

/* The group is freed with its last member, because enqueued work may still use it. */
static void give_back(emulated_communicator *communicator)
{
    emulated_group *group = communicator->group;
    open_communicators--;
    if (communicator->shared) {
        *communicator->left = true;
        shared_group_leave(communicator->shared);
        delete communicator;
        return;
    }
    if (--group->left > 0)
        return;
    for (emulated_communicator *member : group->members)
        delete member;
    delete group;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator)
{
    emulator_guard guard(emulator_lock);
    give_back(communicator);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator)
{
    {
        emulator_guard guard(emulator_lock);
        communicator->aborted = true;
        if (communicator->group)
            communicator->group->come -= communicator->has_come;
    }
    emulator_finish_all();
    emulator_guard guard(emulator_lock);
    give_back(communicator);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *error)
{
    *error = ncclSuccess;
    return ncclSuccess;
}

/* --- collectives --- */

static void gather(const std::vector<emulated_communicator *> &members)
{
    for (const emulated_communicator *to : members)
        for (const emulated_communicator *from : members)
            memcpy((char *)to->what.to + from->number * from->what.bytes, from->what.from,
                   from->what.bytes);
}

static void average(const std::vector<emulated_communicator *> &members)
{
    const size_t count = members[0]->what.bytes / sizeof(float);
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (const emulated_communicator *from : members)
            sum += ((const float *)from->what.from)[i];
        for (const emulated_communicator *to : members)
            ((float *)to->what.to)[i] = sum / (float)members.size();
    }
}

static void run_collective(emulated_group *group)
{
    const collective &first = group->members[0]->what;
    for (const emulated_communicator *member : group->members)
        if (member->what.kind != first.kind || member->what.bytes != first.bytes) {
            fprintf(stderr, "emulator: the GPUs enqueue different collectives\n");
            abort();
        }
    if (first.kind == GATHER)
        gather(group->members);
    else
        average(group->members);
    group->come = 0;
    group->rounds++;
}

static bool take_part(emulated_communicator *communicator, const collective &what)
{
    emulated_group *group = communicator->group;
    if (communicator->aborted)
        return true;
    if (communicator->shared)
        return shared_group_take_part(communicator->shared, what);
    if (!communicator->has_come) {
        communicator->has_come = true;
        communicator->what = what;
        if (++group->come == group->members.size())
            run_collective(group);
    }
    if (communicator->rounds == group->rounds)
        return false;
    communicator->rounds = group->rounds;
    communicator->has_come = false;
    return true;
}

static ncclResult_t enqueue_collective(ncclComm_t communicator, const collective &what,
                                       cudaStream_t stream)
{
    const cudaError_t status =
        emulator_broken() != cudaSuccess
            ? emulator_broken()
            : emulator_submit_tries(stream, [=] { return take_part(communicator, what); });
    return status == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclAllGather(const void *local, void *all, size_t count, ncclDataType_t,
                           ncclComm_t communicator, cudaStream_t stream)
{
    return enqueue_collective(communicator, {GATHER, local, all, count}, stream);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t, ncclRedOp_t,
                           ncclComm_t communicator, cudaStream_t stream)
{
    return enqueue_collective(communicator, {AVERAGE, from, to, count * sizeof(float)}, stream);
}
