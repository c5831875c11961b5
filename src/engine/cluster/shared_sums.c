/* Each rank adds its part of the values, in tasks that are small enough for a core's first cache:
 * the sums are built in the arrays of the ranks, end in that of rank 0, and are copied to the
 * others. */
#include "engine/cluster/shared_sums.h"

#include "base/clock.h"
#include "engine/cluster/cluster_internal.h"
#include "engine/cluster/shared_collectives.h"

#include <string.h>

enum { TASK_VALUES = 2048 };

struct addition {
    const struct shared_memory *memory;
    const struct shared_sum *sum;
    size_t first, end; /* values that this rank adds */
};

/* A few values of all pieces. */
struct values {
    const struct addition *addition;
    size_t first, count;
};

/* Returns the values of a piece. */
static float *values_of(const struct values *values, size_t rank, size_t piece)
{
    const struct addition *addition = values->addition;
    return (float *)shared_memory_of(addition->memory, rank) + piece * addition->sum->stride +
           values->first;
}

static void add_piece(void *context, const struct image_piece *to, const struct image_piece *from)
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
    const struct addition *addition = context;
    const size_t first = addition->first + task * TASK_VALUES, rest = addition->end - first;
    struct values values = {addition, first, rest < TASK_VALUES ? rest : TASK_VALUES};
    image_pieces_join(&addition->sum->pieces, add_piece, &values);
    const float *sums = values_of(&values, 0, 0);
    for (size_t r = 1; r < addition->sum->pieces.ranks; r++)
        memcpy(values_of(&values, r, 0), sums, values.count * sizeof *sums);
}

static void add_part(const struct cluster *cluster, const struct shared_memory *memory,
                     const struct shared_sum *sum, struct pool *pool)
{
    const size_t ranks = cluster_ranks(cluster), rank = cluster_rank(cluster);
    struct addition addition = {.memory = memory,
                                .sum = sum,
                                .first = cluster_part_begin(sum->count, ranks, rank),
                                .end = cluster_part_begin(sum->count, ranks, rank + 1)};
    const size_t tasks = (addition.end - addition.first + TASK_VALUES - 1) / TASK_VALUES;
    if (pool)
        pool_run(pool, tasks, add_task, &addition);
    for (size_t task = 0; !pool && task < tasks; task++)
        add_task(&addition, task, 0);
}

bool shared_sums_add(struct cluster *cluster, const struct shared_memory *memory,
                     const struct shared_sum *sum, struct pool *pool)
{
    struct shared_collectives *shared = cluster->exchange.shared;
    const uint64_t began = clock_nanoseconds();
    bool good = shared_barrier(shared);
    if (good) {
        add_part(cluster, memory, sum, pool);
        good = shared_barrier(shared);
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
    const struct measured_sum *measured = context;
    const size_t ranks = cluster_ranks(measured->cluster);
    const struct shared_sum sum = {.count = count, .pieces = image_pieces_divide(ranks, ranks)};
    return shared_sums_add(measured->cluster, measured->memory, &sum, NULL);
}

bool shared_sums_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost)
{
    const size_t most = cluster_cost_values(count);
    struct shared_memory *memory = shared_memory_create(cluster, most * sizeof(float));
    struct measured_sum measured = {cluster, memory};
    const bool good = memory && cluster_cost_measure(cluster, add_measured, &measured, most, cost);
    shared_memory_free(memory);
    return good;
}
