/* Each rank adds its part of the values, in tasks that are small enough for a core's first cache:
 * the sums are built in the arrays of the ranks, end in that of rank 0, and are copied to the
 * others. */
#include "engine/cluster/shared_sums.h"

#include "base/clock.h"
#include "engine/cluster/cluster_internal.h"
#include "engine/cluster/shared_board.h"
#include "engine/graph/image_blocks.h"

#include <string.h>

enum { TASK_VALUES = 2048 };

struct addition {
    const struct shared_memory *memory;
    size_t ranks;
    size_t first, end; /* values that this rank adds */
};

/* Adds the values [first, first + count) of ranks [begin, begin + ranks) into those of rank
 * `begin`, in the tree's order. */
static void add_ranks(const struct addition *addition, size_t first, size_t count, size_t begin,
                      size_t ranks)
{
    if (ranks == 1)
        return;
    const size_t left = image_blocks_left(ranks);
    add_ranks(addition, first, count, begin, left);
    add_ranks(addition, first, count, begin + left, ranks - left);
    float *to = (float *)shared_memory_of(addition->memory, begin) + first;
    const float *from = (const float *)shared_memory_of(addition->memory, begin + left) + first;
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

static void add_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct addition *addition = context;
    const size_t first = addition->first + task * TASK_VALUES;
    const size_t rest = addition->end - first, count = rest < TASK_VALUES ? rest : TASK_VALUES;
    add_ranks(addition, first, count, 0, addition->ranks);
    const float *sums = (const float *)shared_memory_of(addition->memory, 0) + first;
    for (size_t r = 1; r < addition->ranks; r++)
        memcpy((float *)shared_memory_of(addition->memory, r) + first, sums, count * sizeof *sums);
}

static void add_part(const struct cluster *cluster, const struct shared_memory *memory,
                     size_t count, struct pool *pool)
{
    const size_t ranks = cluster_ranks(cluster), rank = cluster_rank(cluster);
    struct addition addition = {.memory = memory,
                                .ranks = ranks,
                                .first = cluster_part_begin(count, ranks, rank),
                                .end = cluster_part_begin(count, ranks, rank + 1)};
    const size_t tasks = (addition.end - addition.first + TASK_VALUES - 1) / TASK_VALUES;
    if (pool)
        pool_run(pool, tasks, add_task, &addition);
    for (size_t task = 0; !pool && task < tasks; task++)
        add_task(&addition, task, 0);
}

bool shared_sums_add(struct cluster *cluster, const struct shared_memory *memory, size_t count,
                     struct pool *pool)
{
    struct shared_board *board = cluster->exchange.board;
    const uint64_t began = clock_nanoseconds();
    bool good = shared_board_meet(board);
    if (good) {
        add_part(cluster, memory, count, pool);
        good = shared_board_meet(board);
    }
    atomic_fetch_add(&cluster->waited, clock_nanoseconds() - began);
    return good;
}

/* --- the cost of a sum --- */

struct measured_sum {
    struct cluster *cluster;
    const struct shared_memory *memory;
};

static bool add_measured(void *context, size_t count)
{
    const struct measured_sum *sum = context;
    return shared_sums_add(sum->cluster, sum->memory, count, NULL);
}

bool shared_sums_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost)
{
    const size_t most = cluster_cost_values(count);
    struct shared_memory *memory = shared_memory_create(cluster, most * sizeof(float));
    struct measured_sum sum = {cluster, memory};
    const bool good = memory && cluster_cost_measure(cluster, add_measured, &sum, most, cost);
    shared_memory_free(memory);
    return good;
}
