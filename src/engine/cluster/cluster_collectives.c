/* Collectives that a thread waits for. It starts one itself, if MPI allows that, and tests it for a
 * moment: most are complete then. Otherwise the cluster's thread completes it (cluster_thread.c).
 */
#include "engine/cluster/internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/threads/spin.h"

#include <stdlib.h>

/* Starts a collective and tests it for a moment: most are complete then, and need no other thread.
 * Returns whether this one is complete. */
static bool run_directly(struct cluster *cluster, const struct cluster_collective *what)
{
    char reason[CLUSTER_REASON] = "";
    struct spin wait = {0};
    bool complete = false;
    pthread_mutex_lock(&cluster->calls);
    bool good = cluster_check(cluster, NULL);
    if (good) {
        good = cluster_collective_start(cluster, what, reason);
        do
            good = good && cluster->module->test(&complete, reason);
        while (good && !complete && spin_again(&wait));
        if (!good)
            cluster_collective_fail(cluster, reason);
    }
    pthread_mutex_unlock(&cluster->calls);
    return complete;
}

/* Lets the thread complete a collective, and waits for it. */
static void run_by_thread(struct cluster *cluster, const struct cluster_collective *what)
{
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed && !cluster->failing) {
        cluster->asked = *what;
        pthread_cond_broadcast(&cluster->changed);
        while (cluster->asked.request != CLUSTER_NOTHING && !cluster->failed)
            pthread_cond_wait(&cluster->changed, &cluster->lock);
    }
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_collective_run(struct cluster *cluster, const struct cluster_collective *what)
{
    struct cluster_collective rest = *what;
    rest.started = cluster->place.any_thread && what->request != CLUSTER_SHARE;
    cluster_watch_wait(cluster, true);
    if (!rest.started || !run_directly(cluster, what))
        run_by_thread(cluster, &rest);
    cluster_watch_wait(cluster, false);
    return cluster_check(cluster, NULL);
}

/* Gathers without counting it. */
static bool gather(struct cluster *cluster, const void *mine, size_t bytes, void *all)
{
    return cluster_collective_run(
        cluster, &(struct cluster_collective){CLUSTER_GATHER, mine, all, bytes, 0, false});
}

bool cluster_gather(struct cluster *cluster, const void *mine, size_t bytes, void *all)
{
    const uint64_t began = clock_nanoseconds();
    const bool good = gather(cluster, mine, bytes, all);
    atomic_fetch_add(&cluster->gathers, 1);
    atomic_fetch_add(&cluster->waited, clock_nanoseconds() - began);
    return good;
}

bool cluster_agree(struct cluster *cluster, bool good, struct error *error)
{
    struct report {
        bool good;
        struct error error;
    } mine = {.good = good};
    if (!cluster)
        return good;
    if (!good)
        mine.error = *error;
    struct report *all = memory_new(cluster_ranks(cluster), sizeof *all, "the ranks", error);
    if (!all) {
        cluster_fail(cluster, error);
        return false;
    }
    if (!gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    for (size_t r = cluster_ranks(cluster); r-- > 0;)
        if (!all[r].good) {
            *error = all[r].error;
            good = false;
        }
    free(all);
    return good;
}

bool cluster_broadcast(struct cluster *cluster, void *data, size_t bytes)
{
    return cluster_collective_run(
        cluster, &(struct cluster_collective){CLUSTER_BROADCAST, NULL, data, bytes, 0, false});
}
