/* Notices a rank that hangs while its process lives: its training thread waits for a file server
 * that does not answer, for a disk, or for itself. Signs of life come from the cluster's thread,
 * and go on then. So this thread also watches the one that trains, which says what it begins to do
 * (cluster_set_activity): what takes too long without a wait for others is a hang, of which the
 * rank tells all others. A rank that waits for them is never the one that hangs.
 *
 * Some work has no measure: a first iteration, a part of a validation, files that are saved. It
 * hangs only if the process computes nothing meanwhile, and saving has ten times as long.
 *
 * If all ranks wait at the same time, none hangs: messages between two of them are lost, or a GPU
 * does not go on. Rank 0 notices that, since signs of life say how long a rank has waited.
 *
 * Seconds are counted in steps of the cluster's thread: they do not grow while this process is
 * stopped. */
#include "engine/cluster/internal.h"

#include "base/clock.h"
#include "base/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    LONGER = 20,
    UNMEASURED = 10
}; /* factors: on the longest iteration, and on the limit of unmeasured work */

static const double least_cpu =
    0.01; /* processor seconds per second from which on a process is not hung */

/* --- the thread that trains --- */

void cluster_watch_begin(struct cluster_watch *watch)
{
    const char *text = getenv("TINCA_HANG");
    char *end = NULL;
    const double seconds = text ? strtod(text, &end) : CLUSTER_HANG;
    watch->limit = text && (end == text || !(seconds >= 0)) ? CLUSTER_HANG : seconds;
}

static bool iterates(enum cluster_activity activity)
{
    return activity == CLUSTER_READING || activity == CLUSTER_COMPUTING;
}

enum cluster_activity cluster_set_activity(struct cluster *cluster, enum cluster_activity activity,
                                           uint64_t iteration)
{
    if (!cluster)
        return CLUSTER_IDLE;
    struct cluster_watch *watch = &cluster->watch;
    const uint64_t now = clock_nanoseconds();
    pthread_mutex_lock(&cluster->lock);
    const enum cluster_activity before = watch->activity;
    if (iterates(watch->activity) && !iterates(activity)) {
        const double took = clock_seconds(watch->began, now);
        watch->longest = took > watch->longest ? took : watch->longest;
    } else if (!iterates(watch->activity) && iterates(activity))
        watch->began = now;
    watch->activity = activity;
    watch->iteration = iteration ? iteration : watch->iteration;
    pthread_mutex_unlock(&cluster->lock);
    atomic_fetch_add(&watch->changes, 1);
    return before;
}

void cluster_reset_activity(struct cluster *cluster)
{
    if (!cluster)
        return;
    cluster_set_activity(cluster, CLUSTER_IDLE, 0);
    pthread_mutex_lock(&cluster->lock);
    cluster->watch.longest = 0;
    cluster->watch.iteration = 0;
    pthread_mutex_unlock(&cluster->lock);
}

void cluster_note_wait(struct cluster *cluster)
{
    atomic_fetch_add(&cluster->watch.polls, 1);
}

void cluster_watch_wait(struct cluster *cluster, bool waits)
{
    atomic_fetch_add(&cluster->watch.waits, waits ? 1 : -1);
}

/* --- the cluster's thread --- */

/* The state of the thread that trains, as the cluster's thread has last seen it. */
struct moment {
    enum cluster_activity activity;
    uint64_t iteration;
    double longest; /* seconds of an iteration; 0: none is complete */
    bool waits;
};

/* Returns the seconds that the threads of this process have computed, this one excepted. */
static double computed_seconds(void)
{
    struct timespec all, own;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &all) != 0 ||
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own) != 0)
        return 0;
    return (double)(all.tv_sec - own.tv_sec) + 1e-9 * (double)(all.tv_nsec - own.tv_nsec);
}

/* Reads the state of the training thread; the counts start anew if it has made progress. */
static struct moment look(struct cluster *cluster)
{
    struct cluster_watch *watch = &cluster->watch;
    const unsigned changes = atomic_load(&watch->changes), polls = atomic_load(&watch->polls);
    const size_t steps = cluster->sums.steps;
    struct moment moment = {.waits = atomic_load(&watch->waits) > 0 || polls != watch->seen_polls};
    pthread_mutex_lock(&cluster->lock);
    moment.activity = watch->activity;
    moment.iteration = watch->iteration;
    moment.longest = watch->longest;
    pthread_mutex_unlock(&cluster->lock);
    if (changes != watch->seen_changes || steps != watch->seen_steps)
        watch->busy = watch->waiting = 0;
    watch->seen_changes = changes;
    watch->seen_polls = polls;
    watch->seen_steps = steps;
    return moment;
}

/* Returns after how many seconds without progress a rank counts as hung. */
static double limit_of(const struct cluster_watch *watch, const struct moment *moment)
{
    const double times = moment->activity == CLUSTER_SAVING ? UNMEASURED : 1;
    const double usual = LONGER * moment->longest;
    return watch->limit * times > usual ? watch->limit * times : usual;
}

/* Returns whether this rank has hung long enough. */
static bool hangs(struct cluster_watch *watch, const struct moment *moment)
{
    const bool measured = iterates(moment->activity) && moment->longest > 0;
    const double computed = computed_seconds();
    if (watch->busy == 0)
        watch->computed = computed;
    if (!measured && computed - watch->computed > least_cpu * limit_of(watch, moment)) {
        watch->busy = 0;
        watch->computed = computed;
    }
    return watch->busy > limit_of(watch, moment);
}

static const char hang_advice[] =
    N_("look at this host's disks and file servers; TINCA_HANG=SECONDS allows more time; tinca "
       "resume goes on from the last checkpoint");

static void describe_hang(const struct cluster_watch *watch, const struct moment *moment,
                          struct error *error)
{
    char what[64];
    const double seconds = watch->busy;
    snprintf(what, sizeof what, _("iteration %llu"), (unsigned long long)moment->iteration);
    switch (moment->activity) {
    case CLUSTER_READING:
        error_set(error, ERROR_SYSTEM, what, hang_advice,
                  "it hangs: for %.0f seconds it has been reading its images", seconds);
        break;
    case CLUSTER_COMPUTING:
        error_set(error, ERROR_SYSTEM, what, hang_advice,
                  "it hangs: for %.0f seconds it has been computing", seconds);
        break;
    case CLUSTER_VALIDATING:
        error_set(error, ERROR_SYSTEM, what, hang_advice,
                  "it hangs: for %.0f seconds its validation has not gone on", seconds);
        break;
    default:
        error_set(error, ERROR_SYSTEM, what, hang_advice,
                  "it hangs: for %.0f seconds it has been writing files of the run", seconds);
    }
}

/* Returns whether every rank has waited long enough, as far as rank 0 knows. */
static bool all_wait(const struct cluster *cluster, const struct moment *moment)
{
    const struct cluster_watch *watch = &cluster->watch;
    const double times = moment->longest > 0 ? 1 : UNMEASURED;
    const double limit = limit_of(watch, moment) * times;
    if (cluster->place.rank > 0 || !(watch->waiting > limit))
        return false;
    for (size_t r = 1; r < cluster->place.ranks; r++)
        if (!(cluster->peers[r].waiting > limit))
            return false;
    return true;
}

static void describe_standstill(const struct cluster_watch *watch, const struct moment *moment,
                                struct error *error)
{
    char what[64];
    snprintf(what, sizeof what, _("iteration %llu"), (unsigned long long)moment->iteration);
    error_set(error, ERROR_SYSTEM, what,
              "look at the hosts' network and GPUs; TINCA_HANG=SECONDS allows more time; tinca "
              "resume goes on from the last checkpoint",
              "all ranks have waited for each other for %.0f seconds: the network between two of "
              "the hosts is down, or a GPU does not go on",
              watch->waiting);
}

enum cluster_watched cluster_watch_step(struct cluster *cluster, double seconds,
                                        struct error *error)
{
    struct cluster_watch *watch = &cluster->watch;
    const struct moment moment = look(cluster);
    watch->waiting = moment.waits ? watch->waiting + seconds : 0;
    if (watch->limit == 0 || moment.activity == CLUSTER_IDLE)
        return CLUSTER_GOES_ON;
    if (moment.waits) {
        watch->busy = 0;
        if (!all_wait(cluster, &moment))
            return CLUSTER_GOES_ON;
        describe_standstill(watch, &moment, error);
        return CLUSTER_STANDS_STILL;
    }
    const bool hung = hangs(watch, &moment);
    watch->busy += seconds;
    if (!hung)
        return CLUSTER_GOES_ON;
    describe_hang(watch, &moment, error);
    return CLUSTER_HANGS;
}
