/* Joins and leaves a cluster. */
#include "engine/cluster/cluster.h"

#include "base/clock.h"
#include "base/host/host.h"
#include "base/language.h"
#include "base/memory.h"
#include "base/threads/condition.h"
#include "base/threads/thread.h"
#include "engine/cluster/internal.h"
#include "engine/cluster/launcher.h"

#include <config.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- joining --- */

static struct cluster *cluster_new(const struct cluster_module *module, struct error *error)
{
    struct cluster *cluster = memory_new(1, sizeof *cluster, "the cluster", error);
    if (!cluster)
        return NULL;
    cluster->module = module;
    pthread_mutex_init(&cluster->calls, NULL);
    pthread_mutex_init(&cluster->lock, NULL);
    condition_create(&cluster->changed);
    cluster_watch_begin(&cluster->watch);
    return cluster;
}

static void cluster_free(struct cluster *cluster)
{
    pthread_mutex_destroy(&cluster->calls);
    pthread_mutex_destroy(&cluster->lock);
    pthread_cond_destroy(&cluster->changed);
    cluster_messages_free(cluster);
    cluster_windows_free(cluster);
    free(cluster->hosts);
    free(cluster->peers);
    free(cluster);
}

enum { STEPS = 4 }; /* waits for MPI per second */

/* Waits for one step. A count of steps does not include time in which this process was stopped. The
 * caller holds the lock. */
static void wait_step(struct cluster *cluster)
{
    struct timespec due;
    condition_now(&due);
    due.tv_nsec += 1000000000 / STEPS;
    due.tv_sec += due.tv_nsec / 1000000000;
    due.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&cluster->changed, &cluster->lock, &due);
}

/* Returns how many seconds MPI may take to be initialised. */
static double start_limit(void)
{
    const char *text = getenv("TINCA_MPI_START");
    const double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 ? seconds : CLUSTER_START;
}

/* Waits until the thread has initialised MPI, which waits for all processes; sets `stuck` if that
 * lasts too long. The caller holds the lock. */
static bool await_begin(struct cluster *cluster, struct error *error)
{
    const double limit = start_limit();
    for (double steps = 0; !cluster->begun; steps++) {
        cluster->stuck = steps >= STEPS * limit;
        if (cluster->stuck)
            return error_set(error, ERROR_SYSTEM, "MPI",
                             "look at the hosts; TINCA_MPI_START=SECONDS lets slow ones more time",
                             "it waits for all processes, and %g seconds were not enough: one was "
                             "stopped, or cannot be started or reached",
                             limit);
        wait_step(cluster);
    }
    const bool good = !cluster->failed;
    if (!good && error)
        *error = cluster->failure;
    return good;
}

/* Starts the thread and waits until it has initialised MPI. */
static bool begin(struct cluster *cluster, struct error *error)
{
    if (thread_start(&cluster->thread, cluster_thread_run, cluster) != 0)
        return error_set(error, ERROR_SYSTEM, "MPI", "raise the limit on threads",
                         "its thread could not be started");
    cluster->started = true;
    pthread_mutex_lock(&cluster->lock);
    const bool good = await_begin(cluster, error);
    pthread_mutex_unlock(&cluster->lock);
    return good;
}

/* The first message of a rank to the others. */
struct introduction {
    char host[CLUSTER_HOST], version[CLUSTER_HOST];
};

static bool refuse_version(size_t rank, const struct introduction *other,
                           const struct introduction *first, struct error *error)
{
    char name[CLUSTER_HOST + 32];
    snprintf(name, sizeof name, "rank %zu on %s", rank, other->host);
    return error_set(error, ERROR_UNSUPPORTED, name, "install the same version on all hosts",
                     "it is tinca %s, but rank 0 is %s", other->version, first->version);
}

/* Learns the hosts of the other ranks. Returns false with an error if one is another version. */
static bool learn(struct cluster *cluster, const struct introduction *all, struct error *error)
{
    for (size_t r = 0; r < cluster->place.ranks; r++)
        memcpy(cluster->hosts[r], all[r].host, sizeof cluster->hosts[r]);
    for (size_t r = 1; r < cluster->place.ranks; r++)
        if (strcmp(all[r].version, all[0].version) != 0)
            return refuse_version(r, &all[r], &all[0], error);
    return true;
}

static bool introduce(struct cluster *cluster, struct error *error)
{
    struct host host;
    struct introduction mine = {0};
    host_describe(&host);
    snprintf(mine.host, sizeof mine.host, "%.63s", host.name);
    snprintf(mine.version, sizeof mine.version, "%s", PACKAGE_VERSION);
    struct introduction *all = memory_new(cluster->place.ranks, sizeof *all, "the cluster", error);
    if (!all)
        return false;
    if (!cluster_gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    const bool same = learn(cluster, all, error);
    free(all);
    return same;
}

/* Lets the ranks share memory if all are on one host and none has sharing switched off. */
static bool allow_sharing(struct cluster *cluster, struct error *error)
{
    const size_t ranks = cluster->place.ranks;
    const char *wish = getenv("TINCA_SHARED_MEMORY");
    const char mine = cluster->place.first_local == 0 && (!wish || strcmp(wish, "0") != 0);
    char *all = memory_new(ranks, sizeof mine, "the cluster", error);
    if (!all)
        return false;
    if (!cluster_gather(cluster, &mine, sizeof mine, all)) /* MPI may still write to the array */
        return cluster_check(cluster, error);
    cluster->sharing.allowed = !memchr(all, false, ranks);
    free(all);
    return true;
}

/* Tells the thread who the other ranks are, and learns where they are. */
static bool meet(struct cluster *cluster, struct error *error)
{
    const size_t ranks = cluster->place.ranks;
    struct cluster_peer *peers = memory_new(ranks, sizeof *peers, "the cluster", error);
    cluster->hosts = memory_new(ranks, sizeof *cluster->hosts, "the cluster", error);
    if (!peers || !cluster->hosts) {
        free(peers);
        return false;
    }
    pthread_mutex_lock(&cluster->lock);
    cluster->peers = peers;
    pthread_cond_broadcast(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return introduce(cluster, error) && allow_sharing(cluster, error);
}

/* Refuses a launcher that disagrees with MPI about the number of processes. If the launcher does
 * not give the number, this process's rank must be below MPI's number; if MPI knows several, the
 * value of --ranks is wrong. */
static bool check_ranks(const struct cluster *cluster, const struct launch *launch,
                        struct error *error)
{
    const size_t ranks = cluster->place.ranks;
    static const char advice[] =
        N_("use the launcher of that MPI (srun --mpi=list shows what srun knows), or build tinca "
           "with the launcher's MPI");
    if (launch->ranks == 0 && launch->rank >= ranks)
        return error_set(error, ERROR_UNSUPPORTED, launch->launcher, advice,
                         "it started several processes, of which this is number %zu, but MPI (%s) "
                         "knows %zu: the launcher and tinca-mpi.so belong to different MPI "
                         "libraries",
                         launch->rank, cluster->place.library, ranks);
    if (launch->ranks == 0 || launch->ranks == ranks)
        return true;
    if (launch->by_option && ranks > 1)
        return error_set(error, ERROR_USAGE, "--ranks",
                         "give the number of processes that the launcher started",
                         "it says %zu, but MPI (%s) knows %zu processes", launch->ranks,
                         cluster->place.library, ranks);
    return error_set(error, ERROR_UNSUPPORTED, launch->launcher, advice,
                     "it started %zu processes, but MPI (%s) knows %zu: the launcher and "
                     "tinca-mpi.so belong to different MPI libraries",
                     launch->ranks, cluster->place.library, ranks);
}

bool cluster_join_module(const struct cluster_module *module, const struct launch *launch,
                         struct cluster **result, struct error *error)
{
    struct cluster *cluster = cluster_new(module, error);
    *result = NULL;
    if (!cluster)
        return false;
    const bool good = begin(cluster, error) && check_ranks(cluster, launch, error) &&
                      (cluster->place.ranks == 1 || meet(cluster, error));
    if (good && cluster->place.ranks > 1) {
        *result = cluster;
        return true;
    }
    cluster_close(cluster, 1);
    return good;
}

/* --- leaving --- */

/* Ends the job after a failure or a loss. The other ranks first leave rank 0 time to write what it
 * has. */
static void end_failed(const struct cluster *cluster, int status)
{
    fflush(NULL);
    if (cluster->place.ranks > 1 && cluster->place.rank > 0) {
        signal(SIGTERM, SIG_DFL); /* the signal by which the launcher ends it */
        if (cluster->remote || cluster->failing)
            clock_sleep(CLUSTER_SILENCE);
    }
    if (cluster->place.ranks > 1)
        cluster->module->end_all(status ? status : 1);
}

/* Waits until the thread has ended; sets `stuck` if finalising MPI lasts too long. The caller holds
 * the lock. */
static bool await_end(struct cluster *cluster, struct error *error)
{
    const int limit =
        cluster->place.rank == 0 ? CLUSTER_SILENCE : CLUSTER_SILENCE + CLUSTER_SILENCE / 2;
    for (int steps = 0; !cluster->gone; steps += cluster->ending) {
        cluster->stuck = steps >= STEPS * limit;
        if (cluster->stuck)
            return error_set(error, ERROR_SYSTEM, "MPI",
                             "look at the hosts for a process that is left",
                             "it does not end, though all ranks have finished and everything is "
                             "saved: a rank was stopped after its work, or the network is down");
        wait_step(cluster);
    }
    return true;
}

bool cluster_leave(struct cluster *cluster, struct error *error)
{
    if (!cluster || !cluster->started || cluster->stuck)
        return true;
    pthread_mutex_lock(&cluster->lock);
    const bool failed_before = cluster->failed || cluster->failing;
    cluster->leaving = true;
    pthread_cond_broadcast(&cluster->changed);
    bool good = await_end(cluster, error);
    if (good && cluster->failed && !failed_before) {
        good = false;
        if (error)
            *error = cluster->failure;
    }
    pthread_mutex_unlock(&cluster->lock);
    if (!cluster->stuck) {
        pthread_join(cluster->thread, NULL);
        cluster->started = false;
    }
    return good;
}

void cluster_close(struct cluster *cluster, int status)
{
    cluster_leave(cluster, NULL);
    if (!cluster || cluster->stuck) /* the thread still uses it */
        return;
    if (cluster->failed || cluster->lost > 0)
        end_failed(cluster, status);
    cluster_free(cluster);
}
