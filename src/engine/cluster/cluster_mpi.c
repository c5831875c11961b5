/* The module tinca-mpi.so: MPI's collectives and messages, as cluster_module.h asks for them.
 *
 * Everything is non-blocking, so that the thread that calls notices a rank that does not answer.
 * MPI counts with int, so more than INT_MAX values, or bytes of a broadcast, are refused. */
#include "engine/cluster/cluster_module.h"

#include <config.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

struct outgoing {
    MPI_Request request;
    char bytes[CLUSTER_MESSAGE];
};

static struct {
    int rank, ranks;
    MPI_Comm world, sums; /* two communicators, so that sums and the rest may run in any order */
    MPI_Request request, sum_request; /* of the collective, and of the sum */
    int *counts, *places, *other_counts, *other_places;
    struct outgoing *outgoing; /* by rank */
    MPI_Win windows[CLUSTER_WINDOWS];
} mpi;

static bool explain(int code, char *reason)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS)
        return true;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    snprintf(reason, CLUSTER_REASON, "%.200s", text);
    return false;
}

/* --- beginning and end --- */

static void set_library(char *library)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0'; /* the rest names packages and dates */
    for (char *c = text; *c; c++)
        if (*c == '\t')
            *c = ' ';
    snprintf(library, CLUSTER_LIBRARY, "%.90s", text);
}

static bool allocate(char *reason)
{
    const size_t ranks = (size_t)mpi.ranks;
    mpi.counts = calloc(4 * ranks, sizeof *mpi.counts);
    mpi.outgoing = calloc(ranks, sizeof *mpi.outgoing);
    if (!mpi.counts || !mpi.outgoing) {
        snprintf(reason, CLUSTER_REASON, "out of memory");
        return false;
    }
    mpi.places = mpi.counts + ranks;
    mpi.other_counts = mpi.places + ranks;
    mpi.other_places = mpi.other_counts + ranks;
    for (size_t i = 0; i < ranks; i++)
        mpi.outgoing[i].request = MPI_REQUEST_NULL;
    return true;
}

/* Finds out which ranks share this one's host. */
static bool set_local(struct cluster_place *place, char *reason)
{
    MPI_Comm local;
    int number = 0, first = mpi.rank;
    if (!explain(
            MPI_Comm_split_type(mpi.world, MPI_COMM_TYPE_SHARED, mpi.rank, MPI_INFO_NULL, &local),
            reason))
        return false;
    MPI_Comm_rank(local, &number);
    const bool good = explain(MPI_Bcast(&first, 1, MPI_INT, 0, local), reason);
    MPI_Comm_free(&local);
    place->local_rank = (size_t)number;
    place->first_local = (size_t)first;
    return good;
}

static bool begin(struct cluster_place *place, char *reason)
{
    int provided;
    if (!explain(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), reason))
        return false;
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++)
        mpi.windows[w] = MPI_WIN_NULL;
    /* a separate communicator, so that no other library's messages are taken for these */
    if (!explain(MPI_Comm_dup(MPI_COMM_WORLD, &mpi.world), reason) ||
        !explain(MPI_Comm_set_errhandler(mpi.world, MPI_ERRORS_RETURN), reason) ||
        !explain(MPI_Comm_dup(mpi.world, &mpi.sums), reason))
        return false;
    MPI_Comm_rank(mpi.world, &mpi.rank);
    MPI_Comm_size(mpi.world, &mpi.ranks);
    mpi.request = mpi.sum_request = MPI_REQUEST_NULL;
    *place = (struct cluster_place){.rank = (size_t)mpi.rank,
                                    .ranks = (size_t)mpi.ranks,
                                    .any_thread = provided >= MPI_THREAD_SERIALIZED};
    set_library(place->library);
    return set_local(place, reason) && allocate(reason);
}

/* Frees a window, if there is one; all ranks call it. */
static void release(MPI_Win *window)
{
    if (*window == MPI_WIN_NULL)
        return;
    MPI_Win_unlock_all(*window);
    MPI_Win_free(window);
}

static void end(void)
{
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++)
        release(&mpi.windows[w]);
    for (int i = 0; i < mpi.ranks; i++)
        MPI_Wait(&mpi.outgoing[i].request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&mpi.sums);
    MPI_Comm_free(&mpi.world);
    MPI_Finalize();
    free(mpi.counts);
    free(mpi.outgoing);
}

static void end_all(int status)
{
    MPI_Abort(MPI_COMM_WORLD, status);
}

/* --- collectives --- */

static bool fits(size_t count, char *reason)
{
    if (count <= INT_MAX)
        return true;
    snprintf(reason, CLUSTER_REASON, "%zu values are more than MPI can count", count);
    return false;
}

static bool gather(const void *mine, size_t bytes, void *all, char *reason)
{
    return fits(bytes, reason) &&
           explain(MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi.world,
                                  &mpi.request),
                   reason);
}

static bool broadcast(void *data, size_t bytes, char *reason)
{
    return fits(bytes, reason) &&
           explain(MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, mpi.world, &mpi.request), reason);
}

static void synchronise_windows(void)
{
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++)
        if (mpi.windows[w] != MPI_WIN_NULL)
            MPI_Win_sync(mpi.windows[w]);
}

static bool barrier(char *reason)
{
    synchronise_windows();
    return explain(MPI_Ibarrier(mpi.world, &mpi.request), reason);
}

static bool test_request(MPI_Request *request, bool *complete, char *reason)
{
    int flag = 0;
    const bool good = explain(MPI_Test(request, &flag, MPI_STATUS_IGNORE), reason);
    *complete = flag;
    return good;
}

static bool test(bool *complete, char *reason)
{
    const bool good = test_request(&mpi.request, complete, reason);
    if (good && *complete)
        synchronise_windows();
    return good;
}

/* --- windows --- */

/* Sets segments[] to the addresses of a new window, and begins the epoch that MPI_Win_sync needs.
 */
static bool open_window(MPI_Win window, void **segments, char *reason)
{
    MPI_Aint bytes;
    int unit;
    bool good = explain(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN), reason);
    for (int r = 0; good && r < mpi.ranks; r++)
        good = explain(MPI_Win_shared_query(window, r, &bytes, &unit, &segments[r]), reason);
    return good && explain(MPI_Win_lock_all(MPI_MODE_NOCHECK, window), reason);
}

static bool share(size_t number, size_t bytes, void **segments, char *reason)
{
    MPI_Win *window = &mpi.windows[number];
    void *own;
    if (bytes == 0) {
        *window = MPI_WIN_NULL;
        return true;
    }
    release(window);
    if (!explain(
            MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, mpi.world, &own, window),
            reason)) {
        *window = MPI_WIN_NULL;
        return false;
    }
    return open_window(*window, segments, reason);
}

/* --- sums --- */

/* Sets counts[] and places[] of the shards of an array. MPI reads them until the collective is
 * complete. */
static void set_shards(size_t count)
{
    for (int i = 0; i < mpi.ranks; i++) {
        const size_t ranks = (size_t)mpi.ranks, rank = (size_t)i;
        const size_t first = cluster_shard_begin(count, ranks, rank);
        mpi.places[i] = (int)first;
        mpi.counts[i] = (int)(cluster_shard_begin(count, ranks, rank + 1) - first);
    }
}

static MPI_Datatype type_of(size_t bytes)
{
    return bytes == sizeof(uint16_t) ? MPI_UINT16_T : MPI_FLOAT;
}

static bool scatter(const void *values, size_t count, size_t bytes, void *shards, char *reason)
{
    if (!fits(count + (size_t)mpi.ranks, reason))
        return false;
    set_shards(count);
    for (int i = 0; i < mpi.ranks; i++) {
        mpi.other_counts[i] = mpi.counts[mpi.rank];
        mpi.other_places[i] = i * mpi.counts[mpi.rank];
    }
    return explain(MPI_Ialltoallv(values, mpi.counts, mpi.places, type_of(bytes), shards,
                                  mpi.other_counts, mpi.other_places, type_of(bytes), mpi.sums,
                                  &mpi.sum_request),
                   reason);
}

static bool collect(void *values, size_t count, size_t bytes, char *reason)
{
    if (!fits(count, reason))
        return false;
    set_shards(count);
    return explain(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, mpi.counts,
                                   mpi.places, type_of(bytes), mpi.sums, &mpi.sum_request),
                   reason);
}

static bool add(float *values, size_t count, char *reason)
{
    return fits(count, reason) &&
           explain(MPI_Iallreduce(MPI_IN_PLACE, values, (int)count, MPI_FLOAT, MPI_SUM, mpi.sums,
                                  &mpi.sum_request),
                   reason);
}

static bool test_sum(bool *complete, char *reason)
{
    return test_request(&mpi.sum_request, complete, reason);
}

/* --- messages --- */

static bool send(size_t rank, const void *message, size_t bytes)
{
    struct outgoing *out = &mpi.outgoing[rank];
    int left = 0;
    if (bytes > sizeof out->bytes ||
        MPI_Test(&out->request, &left, MPI_STATUS_IGNORE) != MPI_SUCCESS || !left)
        return false;
    memcpy(out->bytes, message, bytes);
    return MPI_Isend(out->bytes, (int)bytes, MPI_BYTE, (int)rank, TAG, mpi.world, &out->request) ==
           MPI_SUCCESS;
}

static size_t receive(size_t *rank, void *message, size_t size)
{
    MPI_Status status;
    int there = 0, bytes = 0;
    if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, mpi.world, &there, &status) != MPI_SUCCESS || !there)
        return 0;
    if (MPI_Recv(message, (int)size, MPI_BYTE, status.MPI_SOURCE, TAG, mpi.world, &status) !=
        MPI_SUCCESS)
        return 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    *rank = (size_t)status.MPI_SOURCE;
    return bytes > 0 ? (size_t)bytes : 0;
}

/* --- the table --- */

static const struct cluster_module module = {
    .abi = CLUSTER_MODULE_ABI,
    .bytes = sizeof(struct cluster_module),
    .version = PACKAGE_VERSION,
#ifdef OPEN_MPI
    .needs_pmi = true,
#endif
    .begin = begin,
    .end = end,
    .end_all = end_all,
    .gather = gather,
    .broadcast = broadcast,
    .barrier = barrier,
    .share = share,
    .test = test,
    .scatter = scatter,
    .collect = collect,
    .add = add,
    .test_sum = test_sum,
    .send = send,
    .receive = receive,
};

__attribute__((visibility("default"))) const struct cluster_module *tinca_cluster_module(void);

const struct cluster_module *tinca_cluster_module(void)
{
    return &module;
}
