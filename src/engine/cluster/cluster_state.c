/* Answers questions about a cluster: its ranks, what they have done, and whether one has failed.
 * Any thread may ask. */
#include "engine/cluster/internal.h"

/* --- facts --- */

size_t cluster_rank(const struct cluster *cluster)
{
    return cluster ? cluster->place.rank : 0;
}

size_t cluster_ranks(const struct cluster *cluster)
{
    return cluster ? cluster->place.ranks : 1;
}

size_t cluster_local_rank(const struct cluster *cluster)
{
    return cluster->place.local_rank;
}

size_t cluster_first_local(const struct cluster *cluster)
{
    return cluster->place.first_local;
}

const char *cluster_library(const struct cluster *cluster)
{
    return cluster->place.library;
}

const char *cluster_host(const struct cluster *cluster, size_t rank)
{
    return cluster->hosts[rank];
}

bool cluster_shares_memory(const struct cluster *cluster)
{
    return cluster->sharing.allowed && !cluster->sharing.failure[0];
}

const char *cluster_sharing_failure(const struct cluster *cluster)
{
    return cluster->sharing.failure;
}

uint64_t cluster_waited(const struct cluster *cluster)
{
    return atomic_load(&((struct cluster *)cluster)->waited);
}

uint64_t cluster_gathers(const struct cluster *cluster)
{
    return atomic_load(&((struct cluster *)cluster)->gathers);
}

/* --- work --- */

void cluster_set_work(struct cluster *cluster, const struct cluster_work *work)
{
    pthread_mutex_lock(&cluster->lock);
    cluster->work = *work;
    pthread_mutex_unlock(&cluster->lock);
}

void cluster_work(struct cluster *cluster, size_t rank, struct cluster_work *work)
{
    pthread_mutex_lock(&cluster->lock);
    *work = rank == cluster->place.rank ? cluster->work : cluster->peers[rank].work;
    pthread_mutex_unlock(&cluster->lock);
}

/* --- failures --- */

void cluster_fail(struct cluster *cluster, const struct error *error)
{
    pthread_mutex_lock(&cluster->lock);
    if (!cluster->failed && !cluster->failing) {
        cluster->failure = *error;
        cluster->failing = true;
        pthread_cond_broadcast(&cluster->changed);
    }
    while (!cluster->failed)
        pthread_cond_wait(&cluster->changed, &cluster->lock);
    pthread_mutex_unlock(&cluster->lock);
}

bool cluster_failed_elsewhere(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->lock);
    const bool remote = cluster->remote;
    pthread_mutex_unlock(&cluster->lock);
    return remote;
}

bool cluster_check(struct cluster *cluster, struct error *error)
{
    if (!cluster)
        return true;
    pthread_mutex_lock(&cluster->lock);
    const bool failed = cluster->failed || cluster->failing;
    if (failed && error)
        *error = cluster->failure;
    pthread_mutex_unlock(&cluster->lock);
    return !failed;
}
