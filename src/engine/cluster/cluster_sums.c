/* Computes sums in the cluster's thread, step by step, while another thread goes on; and sums in
 * windows, which the threads of all ranks add together.
 *
 * The queue of sums is a list of the caller's structures. Only the thread takes from its head; the
 * lock guards the links. A sum has three steps: the parts are scattered, those of one piece of each
 * rank after the other, the thread adds its own, and the sums are collected; MPI's own sum has one.
 * Arrays of bf16 fit into `parts`: half of it takes what the ranks send, the other half what this
 * rank sends.
 *
 * A window's values are added in tasks that are small enough for a core's first cache: the sums are
 * built in the parts of the ranks, end in that of rank 0, and are copied to the others. A window
 * that is closed keeps its memory for the next one that fits, since MPI's freeing is collective: a
 * rank may still train its last batch while another one has ended the run. */
#include "engine/cluster/cluster_sums.h"

#include "base/clock.h"
#include "base/float16.h"
#include "base/memory.h"
#include "engine/cluster/internal.h"
#include "engine/graph/image_blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- addition --- */

static void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* The values that the ranks have scattered: for each number of pieces, those of the rank's piece of
 * this number, rank by rank. */
struct parts {
    float *values;
    size_t length, ranks;
};

static void add_part(void *context, const struct image_piece *to, const struct image_piece *from)
{
    const struct parts *parts = context;
    add(parts->values + (to->number * parts->ranks + to->rank) * parts->length,
        parts->values + (from->number * parts->ranks + from->rank) * parts->length, parts->length);
}

/* Adds the values of this rank's pieces to those of the first one. */
static void add_own_pieces(const struct cluster *cluster, const struct cluster_sum *sum)
{
    const size_t pieces = image_pieces_list(&sum->pieces, cluster->place.rank, NULL);
    for (size_t p = 1; p < pieces; p++)
        add(sum->values, sum->values + p * sum->stride, sum->count);
}

void cluster_bf16_round(const float *from, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bf16_from_float(from[i]);
}

/* Returns the sum of one value of ranks [begin, begin + ranks), `stride` values apart. */
static float add_bf16(const uint16_t *values, size_t stride, size_t begin, size_t ranks)
{
    if (ranks == 1)
        return bf16_to_float(values[begin * stride]);
    const size_t left = image_blocks_left(ranks);
    return add_bf16(values, stride, begin, left) +
           add_bf16(values, stride, begin + left, ranks - left);
}

void cluster_bf16_add(const uint16_t *parts, size_t count, size_t ranks, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = add_bf16(parts + i, count, 0, ranks);
}

/* --- the steps of a sum --- */

/* Returns the values of the largest part of a rank. */
static size_t largest_part(size_t ranks, size_t count)
{
    return count / ranks + (count % ranks > 0);
}

size_t cluster_sum_floats(size_t ranks, size_t count)
{
    return ranks * largest_part(ranks, count);
}

/* Returns where this rank's values of bf16 are: behind the parts of all ranks. */
static uint16_t *outgoing(const struct cluster *cluster, const struct cluster_sum *sum)
{
    return (uint16_t *)sum->parts + cluster_sum_floats(cluster->place.ranks, sum->count);
}

/* Returns the number of values in this rank's part. */
static size_t part_length(const struct cluster *cluster, const struct cluster_sum *sum)
{
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    return cluster_part_begin(sum->count, ranks, rank + 1) -
           cluster_part_begin(sum->count, ranks, rank);
}

/* Returns how many pieces of each rank are scattered. */
static size_t scattered_pieces(const struct cluster_sum *sum)
{
    return sum->kind == CLUSTER_SUM_EXACT ? sum->pieces.most : 1;
}

static bool scatter_piece(const struct cluster *cluster, const struct cluster_sum *sum,
                          size_t piece, char *reason)
{
    float *parts = sum->parts + piece * cluster->place.ranks * part_length(cluster, sum);
    return cluster->module->scatter(sum->values + piece * sum->stride, sum->count, sizeof(float),
                                    parts, reason);
}

static bool start_step(const struct cluster *cluster, const struct cluster_sum *sum, char *reason)
{
    const struct cluster_module *module = cluster->module;
    switch (sum->kind) {
    case CLUSTER_SUM_FAST:
        add_own_pieces(cluster, sum);
        return module->add(sum->values, sum->count, reason);
    case CLUSTER_SUM_BF16:
        add_own_pieces(cluster, sum);
        cluster_bf16_round(sum->values, outgoing(cluster, sum), sum->count);
        return module->scatter(outgoing(cluster, sum), sum->count, sizeof(uint16_t), sum->parts,
                               reason);
    default:
        return scatter_piece(cluster, sum, 0, reason);
    }
}

/* Adds this rank's part, and starts to collect those of all. */
static bool collect_step(const struct cluster *cluster, const struct cluster_sum *sum, char *reason)
{
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    const size_t first = cluster_part_begin(sum->count, ranks, rank);
    const size_t length = part_length(cluster, sum);
    if (sum->kind == CLUSTER_SUM_BF16) {
        uint16_t *rounded = outgoing(cluster, sum);
        cluster_bf16_add((const uint16_t *)sum->parts, length, ranks, sum->values + first);
        cluster_bf16_round(sum->values + first, rounded + first, length);
        return cluster->module->collect(rounded, sum->count, sizeof *rounded, reason);
    }
    struct parts parts = {sum->parts, length, ranks};
    image_pieces_join(&sum->pieces, add_part, &parts);
    memcpy(sum->values + first, sum->parts, length * sizeof *sum->values);
    return cluster->module->collect(sum->values, sum->count, sizeof(float), reason);
}

/* Ends the sum at the head of the queue. */
static void complete(struct cluster *cluster)
{
    struct cluster_sums *sums = &cluster->sums;
    struct cluster_sum *sum = sums->first;
    if (sum->kind == CLUSTER_SUM_BF16)
        for (size_t i = 0; i < sum->count; i++)
            sum->values[i] = bf16_to_float(outgoing(cluster, sum)[i]);
    sums->step = SUM_QUEUED;
    pthread_mutex_lock(&cluster->lock);
    sums->first = sum->next;
    if (!sums->first) {
        sums->last = NULL;
        pthread_cond_broadcast(&cluster->changed);
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_sums_advance(struct cluster *cluster, char *reason)
{
    struct cluster_sums *sums = &cluster->sums;
    bool done = false;
    pthread_mutex_lock(&cluster->lock);
    const struct cluster_sum *sum = sums->first;
    pthread_mutex_unlock(&cluster->lock);
    if (!sum)
        return true;
    if (sums->step == SUM_QUEUED) {
        sums->steps++;
        sums->piece = 0;
        sums->step = sum->kind == CLUSTER_SUM_FAST ? SUM_COLLECTED : SUM_SCATTERED;
        return start_step(cluster, sum, reason);
    }
    if (!cluster->module->test_sum(&done, reason))
        return false;
    if (!done)
        return true;
    sums->steps++;
    if (sums->step == SUM_SCATTERED) {
        if (++sums->piece < scattered_pieces(sum))
            return scatter_piece(cluster, sum, sums->piece, reason);
        sums->step = SUM_COLLECTED;
        return collect_step(cluster, sum, reason);
    }
    complete(cluster);
    return true;
}

/* --- the callers' side --- */

void cluster_sums_start(struct cluster *cluster, struct cluster_sum *sum)
{
    struct cluster_sums *sums = &cluster->sums;
    const size_t ranks = cluster->place.ranks;
    sum->next = NULL;
    if (sum->pieces.blocks == 0)
        sum->pieces = image_pieces_divide(ranks, ranks);
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed && !cluster->failing) {
        if (sums->last)
            sums->last->next = sum;
        else
            sums->first = sum;
        sums->last = sum;
        pthread_cond_broadcast(&cluster->changed);
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_sums_wait(struct cluster *cluster)
{
    const uint64_t began = clock_nanoseconds();
    cluster_watch_wait(cluster, true);
    pthread_mutex_lock(&cluster->lock);
    cluster->sums.awaited = true;
    while (cluster->sums.first && !cluster->failed)
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    cluster->sums.awaited = false;
    const bool good = !cluster->failed && !cluster->failing;
    pthread_mutex_unlock(&cluster->lock);
    cluster_watch_wait(cluster, false);
    atomic_fetch_add(&cluster->waited, clock_nanoseconds() - began);
    return good;
}

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

/* Allocates this rank's part: without that, a full /dev/shm would kill the process when it writes.
 * Does nothing where the system cannot say whether there is room. */
static bool allocate_part(const struct cluster_window *window, struct error *error)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t part = (uintptr_t)window->parts[window->cluster->place.rank];
    const uintptr_t first = part / page * page, end = part + window->bytes;
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
    if (!window->parts)
        window->parts =
            memory_new(cluster->place.ranks, sizeof *window->parts, "shared memory", error);
    /* MPI waits for all ranks without an end, so all come first */
    if (!cluster_agree(cluster, window->parts, error) || !cluster_collective_run(cluster, &share))
        return false;
    window->bytes = bytes;
    const bool good = reason[0] ? refuse(reason, error) : allocate_part(window, error);
    if (cluster_agree(cluster, good, error))
        return true;
    window->bytes = 0;
    if (cluster_check(cluster, NULL))
        cluster_collective_run(cluster, &forget);
    return false;
}

/* Returns the smallest closed window with so many bytes, or one with fewer; NULL: all are used. */
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
        free(cluster->sharing.windows[w].parts);
}

void *cluster_window_part(const struct cluster_window *window, size_t rank)
{
    return window->parts[rank];
}

struct window_sum {
    const struct cluster_window *window;
    const struct image_pieces *pieces;
    size_t first, end; /* values that this rank adds */
    size_t stride;
};

/* A few values of all pieces. */
struct values {
    const struct window_sum *sum;
    size_t first, count;
};

/* Returns the values of a piece. */
static float *values_of(const struct values *values, size_t rank, size_t piece)
{
    return (float *)values->sum->window->parts[rank] + piece * values->sum->stride + values->first;
}

static void add_piece(void *context, const struct image_piece *to, const struct image_piece *from)
{
    const struct values *values = context;
    add(values_of(values, to->rank, to->number), values_of(values, from->rank, from->number),
        values->count);
}

static void add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct window_sum *sum = context;
    const size_t first = sum->first + task * TASK_VALUES, rest = sum->end - first;
    struct values values = {sum, first, rest < TASK_VALUES ? rest : TASK_VALUES};
    image_pieces_join(sum->pieces, add_piece, &values);
    const float *sums = values_of(&values, 0, 0);
    for (size_t r = 1; r < sum->pieces->ranks; r++)
        memcpy(values_of(&values, r, 0), sums, values.count * sizeof *sums);
}

bool cluster_window_sum(const struct cluster_window *window, const struct image_pieces *pieces,
                        size_t count, size_t stride, struct pool *pool)
{
    struct cluster *cluster = window->cluster;
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    struct window_sum sum = {window, pieces, cluster_part_begin(count, ranks, rank),
                             cluster_part_begin(count, ranks, rank + 1), stride};
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

/* Takes the sum of `count` values. Returns false after a failure. */
typedef bool measured_sum(void *context, size_t count);

/* Returns how many values are summed to measure the cost, of the `count` of a network. */
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
                          const struct image_pieces *pieces, size_t count,
                          struct cluster_cost *cost)
{
    const size_t ranks = cluster->place.ranks, most = cost_values(count);
    const size_t floats = (pieces ? pieces->most : 1) * cluster_sum_floats(ranks, most);
    struct error error;
    float *values = memory_new(most + floats, sizeof *values, "the measurement", &error);
    if (!values) {
        cluster_fail(cluster, &error);
        return false;
    }
    struct sum_of_messages measured = {cluster,
                                       {.values = values, .parts = values + most, .kind = kind}};
    if (pieces)
        measured.sum.pieces = *pieces; /* stride 0: all have the same values */
    if (!measure(cluster, add_messages, &measured, most, cost))
        return false; /* MPI may still write to the arrays, and the stack of the failed caller */
    free(values);
    return true;
}

static bool add_in_window(void *context, size_t count)
{
    const struct cluster_window *window = context;
    const size_t ranks = window->cluster->place.ranks;
    const struct image_pieces pieces = image_pieces_divide(ranks, ranks);
    return cluster_window_sum(window, &pieces, count, 0, NULL);
}

bool cluster_window_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost)
{
    const size_t most = cost_values(count);
    struct cluster_window *window = cluster_window_open(cluster, most * sizeof(float));
    const bool good = window && measure(cluster, add_in_window, window, most, cost);
    cluster_window_close(window);
    return good;
}
