/* Each rank counts in shared memory how many collectives it has come to, and has two slots for the
 * values that it gives. The slots take turns. Before a rank writes to one again, it waits until all
 * have come to the collective in between, and have thus read this slot. */
#include "engine/cluster/shared_collectives.h"

#include "base/memory.h"
#include "base/threads/futex.h"
#include "base/threads/spin.h"
#include "engine/cluster/cluster_internal.h"
#include "engine/cluster/shared_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A rank that sleeps looks after this time whether the cluster has failed. */
enum { LOOK_MILLISECONDS = 20 };

/* The shared memory of a rank. */
struct part {
    atomic_uint arrivals; /* at collectives; wraps around */
    atomic_uint sleepers; /* ranks that may sleep until it arrives again */
    _Alignas(MEMORY_ALIGNMENT) char slots[2][SHARED_BYTES];
};

struct shared_collectives {
    struct cluster *cluster;
    struct shared_memory *memory;
    unsigned arrivals; /* of this rank */
};

struct shared_collectives *shared_collectives_create(struct cluster *cluster)
{
    struct error error;
    struct shared_collectives *shared = memory_new(1, sizeof *shared, "shared memory", &error);
    if (cluster_agree(cluster, shared, &error)) {
        shared->cluster = cluster;
        shared->memory = shared_memory_create(cluster, sizeof(struct part));
        if (shared->memory)
            return shared;
    }
    free(shared);
    return NULL;
}

void shared_collectives_free(struct shared_collectives *shared)
{
    if (shared)
        shared_memory_free(shared->memory);
    free(shared);
}

static struct part *part_of(const struct shared_collectives *shared, size_t rank)
{
    return shared_memory_of(shared->memory, rank);
}

/* Counts an arrival of this rank. Either it sees that a rank sleeps, or the sleeper sees the new
 * number. */
static void arrive(struct shared_collectives *shared)
{
    struct part *part = part_of(shared, cluster_rank(shared->cluster));
    atomic_store(&part->arrivals, ++shared->arrivals);
    if (atomic_load(&part->sleepers) > 0)
        futex_wake_shared(&part->arrivals);
}

/* Returns whether a rank with this number of arrivals is as far as this rank. */
static bool is_here(const struct shared_collectives *shared, unsigned arrivals)
{
    return (int)(arrivals - shared->arrivals) >= 0;
}

/* Sleeps until a rank is as far as this one. Returns false after a failure. */
static bool sleep_until_here(const struct shared_collectives *shared, struct part *part)
{
    while (!is_here(shared, atomic_load_explicit(&part->arrivals, memory_order_acquire))) {
        if (!cluster_check(shared->cluster, NULL))
            return false;
        atomic_fetch_add(&part->sleepers, 1);
        const unsigned arrivals = atomic_load(&part->arrivals);
        if (!is_here(shared, arrivals))
            futex_wait_shared(&part->arrivals, arrivals, LOOK_MILLISECONDS);
        atomic_fetch_sub(&part->sleepers, 1);
    }
    return true;
}

/* Waits until a rank is as far as this one. Returns false after a failure. */
static bool await(const struct shared_collectives *shared, size_t rank)
{
    struct part *part = part_of(shared, rank);
    struct spin wait = {0};
    do
        if (is_here(shared, atomic_load_explicit(&part->arrivals, memory_order_acquire)))
            return true;
    while (spin_again(&wait));
    cluster_watch_wait(shared->cluster, true);
    const bool good = sleep_until_here(shared, part);
    cluster_watch_wait(shared->cluster, false);
    return good;
}

static bool await_all(const struct shared_collectives *shared)
{
    for (size_t r = 0; r < cluster_ranks(shared->cluster); r++)
        if (!await(shared, r))
            return false;
    return true;
}

bool shared_barrier(struct shared_collectives *shared)
{
    if (!cluster_check(shared->cluster, NULL))
        return false; /* a rank that has given up must not be taken for one that goes on */
    arrive(shared);
    return await_all(shared);
}

/* Writes this rank's values to the slot of the next collective. Returns false after a failure. */
static bool give(const struct shared_collectives *shared, const void *values, size_t bytes)
{
    const size_t slot = (shared->arrivals + 1) % 2;
    if (!cluster_check(shared->cluster, NULL) || !await_all(shared))
        return false;
    memcpy(part_of(shared, cluster_rank(shared->cluster))->slots[slot], values, bytes);
    return true;
}

bool shared_broadcast(struct shared_collectives *shared, void *data, size_t bytes)
{
    const bool first = cluster_rank(shared->cluster) == 0;
    if (first ? !give(shared, data, bytes) : !cluster_check(shared->cluster, NULL))
        return false;
    arrive(shared);
    if (first)
        return true;
    if (!await(shared, 0))
        return false;
    memcpy(data, part_of(shared, 0)->slots[shared->arrivals % 2], bytes);
    return true;
}

bool shared_gather(struct shared_collectives *shared, const void *mine, size_t bytes, void *all)
{
    const size_t slot = (shared->arrivals + 1) % 2;
    if (!give(shared, mine, bytes) || !shared_barrier(shared))
        return false;
    for (size_t r = 0; r < cluster_ranks(shared->cluster); r++)
        memcpy((char *)all + r * bytes, part_of(shared, r)->slots[slot], bytes);
    return true;
}
