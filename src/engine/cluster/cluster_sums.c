/* Computes sums in the cluster's thread, step by step, while another thread goes on.
 *
 * The queue is a list of the caller's structures. Only the thread takes from its head; the lock
 * guards the links. A sum has three steps: the shards are scattered, subtree by subtree, the thread
 * adds its own shards, and the sums are collected; MPI's own sum has one. Arrays of bf16 fit into
 * `shards`: half of it takes what the ranks send, the other half what this rank sends. */
#include "engine/cluster/cluster_sums.h"

#include "base/clock.h"
#include "base/float16.h"
#include "base/memory.h"
#include "engine/cluster/internal.h"
#include "engine/graph/image_blocks.h"

#include <string.h>

/* --- addition --- */

static void add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* The values that the ranks have scattered: for each number of subtrees, those of the rank's
 * subtree of this number, rank by rank. */
struct shards {
    float *values;
    size_t length, ranks;
};

static void add_shard(void *context, const struct batch_subtree *to,
                      const struct batch_subtree *from)
{
    const struct shards *shards = context;
    add(shards->values + (to->number * shards->ranks + to->rank) * shards->length,
        shards->values + (from->number * shards->ranks + from->rank) * shards->length,
        shards->length);
}

/* Adds the values of this rank's subtrees to those of the first one. */
static void add_own_subtrees(const struct cluster *cluster, const struct cluster_sum *sum)
{
    const size_t subtrees = batch_subtrees_list(&sum->subtrees, cluster->place.rank, NULL);
    for (size_t p = 1; p < subtrees; p++)
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

void cluster_bf16_add(const uint16_t *shards, size_t count, size_t ranks, float *to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = add_bf16(shards + i, count, 0, ranks);
}

/* --- the steps of a sum --- */

/* Returns the values of the largest shard of a rank. */
static size_t largest_shard(size_t ranks, size_t count)
{
    return count / ranks + (count % ranks > 0);
}

size_t cluster_sum_floats(size_t ranks, size_t count)
{
    return ranks * largest_shard(ranks, count);
}

/* Returns where this rank's values of bf16 are: behind the shards of all ranks. */
static uint16_t *outgoing(const struct cluster *cluster, const struct cluster_sum *sum)
{
    return (uint16_t *)sum->shards + cluster_sum_floats(cluster->place.ranks, sum->count);
}

/* Returns the number of values in this rank's shard. */
static size_t shard_length(const struct cluster *cluster, const struct cluster_sum *sum)
{
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    return cluster_shard_begin(sum->count, ranks, rank + 1) -
           cluster_shard_begin(sum->count, ranks, rank);
}

/* Returns how many subtrees of each rank are scattered. */
static size_t scattered_subtrees(const struct cluster_sum *sum)
{
    return sum->kind == CLUSTER_SUM_EXACT ? sum->subtrees.most : 1;
}

static bool scatter_subtree(const struct cluster *cluster, const struct cluster_sum *sum,
                            size_t subtree, char *reason)
{
    float *shards = sum->shards + subtree * cluster->place.ranks * shard_length(cluster, sum);
    return cluster->module->scatter(sum->values + subtree * sum->stride, sum->count, sizeof(float),
                                    shards, reason);
}

static bool start_step(const struct cluster *cluster, const struct cluster_sum *sum, char *reason)
{
    const struct cluster_module *module = cluster->module;
    switch (sum->kind) {
    case CLUSTER_SUM_FAST:
        add_own_subtrees(cluster, sum);
        return module->add(sum->values, sum->count, reason);
    case CLUSTER_SUM_BF16:
        add_own_subtrees(cluster, sum);
        cluster_bf16_round(sum->values, outgoing(cluster, sum), sum->count);
        return module->scatter(outgoing(cluster, sum), sum->count, sizeof(uint16_t), sum->shards,
                               reason);
    default:
        return scatter_subtree(cluster, sum, 0, reason);
    }
}

/* Adds this rank's shard, and starts to collect those of all. */
static bool collect_step(const struct cluster *cluster, const struct cluster_sum *sum, char *reason)
{
    const size_t ranks = cluster->place.ranks, rank = cluster->place.rank;
    const size_t first = cluster_shard_begin(sum->count, ranks, rank);
    const size_t length = shard_length(cluster, sum);
    if (sum->kind == CLUSTER_SUM_BF16) {
        uint16_t *rounded = outgoing(cluster, sum);
        cluster_bf16_add((const uint16_t *)sum->shards, length, ranks, sum->values + first);
        cluster_bf16_round(sum->values + first, rounded + first, length);
        return cluster->module->collect(rounded, sum->count, sizeof *rounded, reason);
    }
    struct shards shards = {sum->shards, length, ranks};
    batch_subtrees_join(&sum->subtrees, add_shard, &shards);
    memcpy(sum->values + first, sum->shards, length * sizeof *sum->values);
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
        sums->subtree = 0;
        sums->step = sum->kind == CLUSTER_SUM_FAST ? SUM_COLLECTED : SUM_SCATTERED;
        return start_step(cluster, sum, reason);
    }
    if (!cluster->module->test_sum(&done, reason))
        return false;
    if (!done)
        return true;
    sums->steps++;
    if (sums->step == SUM_SCATTERED) {
        if (++sums->subtree < scattered_subtrees(sum))
            return scatter_subtree(cluster, sum, sums->subtree, reason);
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
    if (sum->subtrees.blocks == 0)
        sum->subtrees = batch_subtrees_divide(ranks, ranks);
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
