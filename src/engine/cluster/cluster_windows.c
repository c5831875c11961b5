/* Adds up values in windows with the threads of all ranks, and measures the cost of sums.
 *
 * A window's values are added in tasks that are small enough for a core's first cache: the sums are
 * built in the segments of the ranks, end in that of rank 0, and are copied to the others. A window
 * that is closed keeps its memory for the next one that fits, since MPI's freeing is collective: a
 * rank may still train its last batch while another one has ended the run. */
#include "engine/cluster/cluster_sums.h"

#include "base/clock.h"
#include "base/memory.h"
#include "engine/cluster/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- windows --- */

enum { TASK_VALUES = 2048 };

static bool barrier(struct cluster *cluster)
{
    return cluster_collective_run(cluster,
                                  &(struct cluster_collective){.request = CLUSTER_BARRIER});
}

static bool refuse(const char *reason, struct error *error)
{
    return error_set(error, ERROR_SYSTEM, "shared memory",
                     "make room in /dev/shm; TINCA_SHARED_MEMORY=0 does without it",
                     "the processes of this host cannot have it (%s)", reason);
}

/* Allocates this rank's segment: without that, a full /dev/shm would kill the process when it
 * writes. Does nothing where the system cannot say whether there is room. */
static bool allocate_segment(const struct cluster_window *window, struct error *error)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t segment = (uintptr_t)window->segments[window->cluster->place.rank];
    const uintptr_t first = segment / page * page, end = segment + window->bytes;
    if (madvise((void *)first, end - first, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
        return refuse(strerror(errno == EFAULT ? ENOSPC : errno), error);
#else
    (void)window;
    (void)error;
#endif
    return true;
}

/* Lets all ranks give memory to a window. Returns false with an error on all of them if one cannot
 * have it. */
static bool allocate_window(struct cluster_window *window, size_t bytes, struct error *error)
{
    struct cluster *cluster = window->cluster;
    char reason[CLUSTER_REASON] = "";
    const struct cluster_collective share = {
        CLUSTER_SHARE, NULL, reason, bytes, (size_t)(window - cluster->sharing.windows), false};
    const struct cluster_collective forget = {CLUSTER_SHARE, NULL, reason, 0, share.number, false};
    if (!window->segments)
        window->segments =
            memory_new(cluster->place.ranks, sizeof *window->segments, "shared memory", error);
    /* MPI would wait for ever for a missing rank, so all agree first */
    if (!cluster_agree(cluster, window->segments, error))
        return false;
    if (!cluster_collective_run(cluster, &share))
        return cluster_check(cluster, error);
    window->bytes = bytes;
    const bool good = reason[0] ? refuse(reason, error) : allocate_segment(window, error);
    if (cluster_agree(cluster, good, error))
        return true;
    window->bytes = 0;
    if (cluster_check(cluster, NULL))
        cluster_collective_run(cluster, &forget);
    return false;
}

/* Returns the smallest closed window of `bytes` bytes or more, else a smaller one; NULL: all are
 * used. */
static struct cluster_window *find_window(struct cluster *cluster, size_t bytes)
{
    struct cluster_window *windows = cluster->sharing.windows, *best = NULL;
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++) {
        const bool fits = windows[w].bytes >= bytes, best_fits = best && best->bytes >= bytes;
        if (!windows[w].used && (!best || (fits && (!best_fits || windows[w].bytes < best->bytes))))
            best = &windows[w];
    }
    return best;
}

struct cluster_window *cluster_window_open(struct cluster *cluster, size_t bytes)
{
    struct error error;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes / page + 1) * page;
    struct cluster_window *window =
        cluster_shares_memory(cluster) ? find_window(cluster, whole) : NULL;
    if (!window)
        return NULL;
    window->cluster = cluster;
    if (window->bytes < whole && !allocate_window(window, whole, &error)) {
        snprintf(cluster->sharing.failure, sizeof cluster->sharing.failure, "%s", error.why);
        return NULL;
    }
    window->used = true;
    return window;
}

void cluster_window_close(struct cluster_window *window)
{
    if (window)
        window->used = false;
}

void cluster_windows_free(struct cluster *cluster)
{
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++)
        free(cluster->sharing.windows[w].segments);
}

void *cluster_window_segment(const struct cluster_window *window, size_t rank)
{
    return window->segments[rank];
}

struct window_sum {
    const struct cluster_window *window;
    const struct batch_subtrees *subtrees;
    size_t first, end; /* values that this rank adds */
    size_t stride;
};

/* Some of the values of all subtrees. */
struct values {
    const struct window_sum *sum;
    size_t first, count;
};

/* Returns the values of a subtree. */
static float *values_of(const struct values *values, size_t rank, size_t subtree)
{
    return (float *)values->sum->window->segments[rank] + subtree * values->sum->stride +
           values->first;
}

static void add_subtree(void *context, const struct batch_subtree *to,
                        const struct batch_subtree *from)
{
    const struct values *values = context;
    float *sums = values_of(values, to->rank, to->number);
    const float *more = values_of(values, from->rank, from->number);
    for (size_t i = 0; i < values->count; i++)
        sums[i] += more[i];
}

static void add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct window_sum *sum = context;
    const size_t first = sum->first + task * TASK_VALUES, rest = sum->end - first;
    struct values values = {sum, first, rest < TASK_VALUES ? rest : TASK_VALUES};
    batch_subtrees_join(sum->subtrees, add_subtree, &values);
    const float *sums = values_of(&values, 0, 0);
    for (size_t r = 1; r < sum->subtrees->ranks; r++)
        memcpy(values_of(&values, r, 0), sums, values.count * sizeof *sums);
}

bool cluster_window_sum(const struct cluster_window *window, const struct batch_subtrees *subtrees,
                        size_t count, size_t stride, struct pool *pool)
{
    struct cluster *cluster = window->cluster;
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    struct window_sum sum = {window, subtrees, cluster_shard_begin(count, ranks, rank),
                             cluster_shard_begin(count, ranks, rank + 1), stride};
    const size_t tasks = (sum.end - sum.first + TASK_VALUES - 1) / TASK_VALUES;
    const uint64_t began = clock_nanoseconds();
    bool good = barrier(cluster);
    if (good && pool)
        pool_run(pool, tasks, add_task, &sum);
    for (size_t task = 0; good && !pool && task < tasks; task++)
        add_task(&sum, task, 0);
    good = good && barrier(cluster);
    atomic_fetch_add(&cluster->waited, clock_nanoseconds() - began);
    return good;
}

/* --- the cost of a sum --- */

enum { FEW = 64, MANY = 1 << 18, REPEATS = 5 };

/* Computes the sum of `count` values. Returns false after a failure. */
typedef bool measured_sum(void *context, size_t count);

/* Returns how many of a network's `count` values are summed to measure the cost. */
static size_t cost_values(size_t count)
{
    return count < MANY ? count : MANY;
}

/* Returns the shortest time of several sums in seconds; negative after a failure. */
static double time_sum(struct cluster *cluster, measured_sum *sum, void *context, size_t count)
{
    double shortest = -1;
    struct error error;
    for (size_t i = 0; i < REPEATS; i++) {
        if (!cluster_agree(cluster, true, &error)) /* the ranks begin together */
            return -1;
        const uint64_t began = clock_nanoseconds();
        if (!sum(context, count))
            return -1;
        const double took = clock_seconds(began, clock_nanoseconds());
        if (shortest < 0 || took < shortest)
            shortest = took;
    }
    return shortest;
}

/* Measures sums of few and of `most` values. */
static bool measure(struct cluster *cluster, measured_sum *sum, void *context, size_t most,
                    struct cluster_cost *cost)
{
    const size_t few = most < FEW ? most : FEW;
    const double latency = time_sum(cluster, sum, context, few);
    const double whole = latency < 0 ? -1 : time_sum(cluster, sum, context, most);
    *cost = (struct cluster_cost){.latency = latency};
    if (whole > latency && most > few)
        cost->seconds_per_byte = (whole - latency) / ((double)(most - few) * sizeof(float));
    return whole >= 0 && cluster_broadcast(cluster, cost, sizeof *cost);
}

struct sum_of_messages {
    struct cluster *cluster;
    struct cluster_sum sum;
};

static bool add_messages(void *context, size_t count)
{
    struct sum_of_messages *measured = context;
    measured->sum.count = count;
    cluster_sums_start(measured->cluster, &measured->sum);
    return cluster_sums_wait(measured->cluster);
}

bool cluster_sums_measure(struct cluster *cluster, enum cluster_sum_kind kind,
                          const struct batch_subtrees *subtrees, size_t count,
                          struct cluster_cost *cost)
{
    const size_t ranks = cluster->place.ranks, most = cost_values(count);
    const size_t floats = (subtrees ? subtrees->most : 1) * cluster_sum_floats(ranks, most);
    struct error error;
    float *values = memory_new(most + floats, sizeof *values, "the measurement", &error);
    if (!values) {
        cluster_fail(cluster, &error);
        return false;
    }
    struct sum_of_messages measured = {cluster,
                                       {.values = values, .shards = values + most, .kind = kind}};
    if (subtrees)
        measured.sum.subtrees = *subtrees; /* stride 0: all have the same values */
    if (!measure(cluster, add_messages, &measured, most, cost))
        return false; /* MPI may still write to the arrays, and the stack of the failed caller */
    free(values);
    return true;
}

static bool add_in_window(void *context, size_t count)
{
    const struct cluster_window *window = context;
    const size_t ranks = window->cluster->place.ranks;
    const struct batch_subtrees subtrees = batch_subtrees_divide(ranks, ranks);
    return cluster_window_sum(window, &subtrees, count, 0, NULL);
}

bool cluster_window_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost)
{
    const size_t most = cost_values(count);
    struct cluster_window *window = cluster_window_open(cluster, most * sizeof(float));
    const bool good = window && measure(cluster, add_in_window, window, most, cost);
    cluster_window_close(window);
    return good;
}
