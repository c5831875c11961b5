/* All ranks take the same steps, and agree after each whether all of them could. */
#include "training/bench/scaling.h"

#include "base/clock.h"
#include "base/host/core_set.h"
#include "base/host/host.h"
#include "base/host/host_contention.h"
#include "base/memory.h"
#include "engine/cluster/cluster_sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATHERS = 20, ROUNDS = 3 };
/* BLOCKS: unmarked blocks after which the turns end. MOST_BLOCKS: blocks after which they end
 * anyway. TURN_ITERATIONS: iterations of a turn. */
enum { BLOCKS = TURNS_LEAST, MOST_BLOCKS = 2 * TURNS_LEAST, TURN_ITERATIONS = 2 };

/* Returns the steps of a collective of `ranks` ranks. */
static double steps(size_t ranks)
{
    return ceil(log2((double)ranks));
}

/* Returns the share of its values that a rank sends in a reduce-scatter or an all-gather. */
static double sent(size_t ranks)
{
    return (double)(ranks - 1) / (double)ranks;
}

/* --- measuring --- */

/* Returns the values of all ranks, each of `bytes` bytes, or NULL with an error. */
static void *gather(struct cluster *cluster, const void *mine, size_t bytes, struct error *error)
{
    void *all = memory_new(cluster_ranks(cluster), bytes, "the measurement", error);
    if (!all) {
        cluster_fail(cluster, error);
        return NULL;
    }
    if (cluster_gather(cluster, mine, bytes, all))
        return all;
    cluster_check(cluster, error);
    return NULL; /* MPI may still write to the array, which therefore stays */
}

/* Sets *seconds to the longest time of all ranks. */
static bool take_slowest(struct cluster *cluster, double mine, double *seconds, struct error *error)
{
    double *all = gather(cluster, &mine, sizeof mine, error);
    if (!all)
        return false;
    *seconds = 0;
    for (size_t r = 0; r < cluster_ranks(cluster); r++)
        *seconds = fmax(*seconds, all[r]);
    free(all);
    return true;
}

/* Measures the seconds of an iteration of this process. */
static bool measure_iteration(const struct bench_settings *settings, struct scaling *scaling,
                              double *seconds, struct error *error)
{
    struct bench bench;
    const uint64_t before = settings->cluster ? cluster_gathers(settings->cluster) : 0;
    if (!bench_run(settings, &bench, error))
        return false;
    *seconds = 1e-3 * bench.ms_per_image.median * (double)bench.batch;
    network_short_name(bench.network, scaling->network, sizeof scaling->network);
    scaling->technique = bench.network->technique;
    scaling->threads = bench.device->threads;
    scaling->turns.on = measured_on_now(bench.device);
    scaling->gradients = bench.main.graph->learnable_floats;
    if (bench.discriminator.graph) /* two passes, and a sum after each */
        scaling->gradients += 2 * bench.discriminator.graph->learnable_floats;
    if (settings->cluster)
        scaling->gathers = (size_t)(cluster_gathers(settings->cluster) - before) /
                           (bench.iterations + bench.warm_up);
    bench_free(&bench);
    return true;
}

/* Measures an iteration of `batch` images in one process: in rank 0 alone, while the others wait,
 * or in all at once. */
static bool measure_without_messages(const struct bench_settings *settings, size_t batch,
                                     bool all_at_once, struct scaling *scaling, double *seconds,
                                     struct error *error)
{
    struct cluster *cluster = settings->cluster;
    struct bench_settings own = *settings;
    double mine = 0;
    bool good = true;
    own.cluster = NULL;
    own.batch = batch;
    own.image_blocks = 1;
    if (all_at_once || cluster_rank(cluster) == 0)
        good = measure_iteration(&own, scaling, &mine, error);
    return cluster_agree(cluster, good, error) && take_slowest(cluster, mine, seconds, error);
}

/* Measures the whole batch in one process, unless it does not fit there. */
static bool measure_one(const struct bench_settings *settings, struct scaling *scaling,
                        struct error *error)
{
    if (measure_without_messages(settings, settings->batch, false, scaling, &scaling->one, error))
        return true;
    scaling->one = 0;
    return error->kind == ERROR_MEMORY && cluster_check(settings->cluster, error);
}

/* The cores and threads of a rank, and its host. */
struct share {
    size_t threads;
    struct core_set cores;
};

/* Sets *whole to the cores and threads of all ranks on rank 0's host together, with at most one
 * thread for each core, but no fewer than rank 0 has; sets *more to whether these are more threads
 * than rank 0 has. */
static bool find_whole(struct cluster *cluster, size_t threads, struct share *whole, bool *more,
                       struct error *error)
{
    const struct share mine = {.threads = threads, .cores = core_set_here()};
    struct share *all = gather(cluster, &mine, sizeof mine, error);
    *whole = (struct share){0};
    *more = false;
    if (!all)
        return false;
    for (size_t r = 0; r < cluster_ranks(cluster); r++)
        if (strcmp(cluster_host(cluster, r), cluster_host(cluster, 0)) == 0) {
            whole->threads += all[r].threads;
            core_set_add(&whole->cores, &all[r].cores);
        }
    const size_t bound = core_set_count(&whole->cores), cores = bound ? bound : host_cores();
    if (whole->threads > cores)
        whole->threads = cores > all[0].threads ? cores : all[0].threads;
    *more = whole->threads > all[0].threads;
    free(all);
    return true;
}

/* Measures the whole batch in one process with the threads and the cores of all ranks on rank 0's
 * host: a user could start that instead of the ranks. Measures nothing if these are not more
 * threads than rank 0 has, or if a GPU computes, since measure_one then measures the same. */
static bool measure_whole(const struct bench_settings *settings, struct scaling *scaling,
                          struct error *error)
{
    struct cluster *cluster = settings->cluster;
    const struct core_set usual = core_set_here();
    const size_t threads = scaling->threads;
    struct bench_settings wide = *settings;
    struct share share;
    bool more;
    scaling->whole_threads = threads;
    if (!find_whole(cluster, threads, &share, &more, error))
        return false;
    if (!more || strncmp(settings->device, "cuda", 4) == 0)
        return true;
    const bool bound = cluster_rank(cluster) == 0 && core_set_bind(&share.cores);
    const bool can = bound || core_set_count(&share.cores) == 0;
    wide.threads = can ? share.threads : threads;
    const bool good =
        measure_without_messages(&wide, settings->batch, false, scaling, &scaling->whole, error);
    if (bound)
        core_set_bind(&usual);
    scaling->whole_threads = wide.threads;
    scaling->threads = threads;
    if (good)
        return true;
    scaling->whole = 0;
    return error->kind == ERROR_MEMORY && cluster_check(cluster, error);
}

static bool measure_together(const struct bench_settings *settings, struct scaling *scaling,
                             struct error *error)
{
    double mine;
    return measure_iteration(settings, scaling, &mine, error) &&
           take_slowest(settings->cluster, mine, &scaling->together, error);
}

/* Measures gathers of the statistics of a batch norm of 64 channels. */
static bool measure_gather(struct cluster *cluster, double *seconds, struct error *error)
{
    double mine[3 * 64] = {0};
    double *all = memory_new(cluster_ranks(cluster), sizeof mine, "the measurement", error);
    if (!all) {
        cluster_fail(cluster, error);
        return false;
    }
    double times[GATHERS];
    for (size_t i = 0; i < GATHERS; i++) {
        const uint64_t began = clock_nanoseconds();
        if (!cluster_gather(cluster, mine, sizeof mine, all))
            return cluster_check(cluster, error);
        times[i] = clock_seconds(began, clock_nanoseconds());
    }
    free(all);
    struct statistics statistics;
    if (!statistics_compute(times, GATHERS, &statistics, error)) {
        cluster_fail(cluster, error);
        return false;
    }
    *seconds = statistics.median;
    return true;
}

/* Returns the parameters that follow from the costs of the collectives of `ranks` ranks. */
static struct scaling_link link_of(size_t ranks, const struct cluster_cost *sum, double gather)
{
    return (struct scaling_link){.latency = sum->latency / (2 * steps(ranks)),
                                 .seconds_per_byte = sum->seconds_per_byte / (2 * sent(ranks)),
                                 .gather = gather / steps(ranks)};
}

/* Measures gathers, and sums by messages. */
static bool measure_mpi(struct cluster *cluster, struct scaling *scaling, struct error *error)
{
    struct cluster_cost cost;
    double gather;
    if (!measure_gather(cluster, &gather, error))
        return false;
    if (!cluster_sums_measure(cluster, CLUSTER_SUM_EXACT, NULL, scaling->gradients, &cost))
        return cluster_check(cluster, error);
    scaling->link = link_of(cluster_ranks(cluster), &cost, gather);
    return true;
}

static bool measure_shared(struct cluster *cluster, struct scaling *scaling, struct error *error)
{
    struct cluster_cost cost;
    double gather;
    if (!measure_gather(cluster, &gather, error))
        return false;
    if (!cluster_window_measure(cluster, scaling->gradients, &cost))
        return cluster_check(cluster, error); /* true: memory is short, so MPI computes the sums */
    scaling->shared = true;
    scaling->here = link_of(cluster_ranks(cluster), &cost, gather);
    return true;
}

static bool measure_links(struct cluster *cluster, struct scaling *scaling, struct error *error)
{
    if (!measure_mpi(cluster, scaling, error))
        return false;
    scaling->here = scaling->link;
    return !cluster_shares_memory(cluster) || measure_shared(cluster, scaling, error);
}

static size_t count_hosts(const struct cluster *cluster)
{
    size_t hosts = 0;
    for (size_t r = 0; r < cluster_ranks(cluster); r++) {
        bool first = true;
        for (size_t s = 0; s < r; s++)
            first &= strcmp(cluster_host(cluster, r), cluster_host(cluster, s)) != 0;
        hosts += first;
    }
    return hosts;
}

static struct scaling begin(const struct bench_settings *settings)
{
    return (struct scaling){.ranks = cluster_ranks(settings->cluster),
                            .hosts = count_hosts(settings->cluster),
                            .batch = settings->batch};
}

/* Measures once: the iterations that the model needs, that of all ranks, and one process. */
static bool measure_round(const struct bench_settings *settings, struct scaling *scaling,
                          struct error *error)
{
    const size_t each = settings->batch / scaling->ranks;
    return measure_without_messages(settings, each, true, scaling, &scaling->share, error) &&
           measure_together(settings, scaling, error) &&
           measure_without_messages(settings, each, false, scaling, &scaling->share_alone, error) &&
           measure_one(settings, scaling, error) && measure_whole(settings, scaling, error);
}

/* Measures a few rounds, and keeps the shortest time of each iteration: a machine that others share
 * has another speed a second later. */
static bool measure_rounds(const struct bench_settings *settings, struct scaling *scaling,
                           struct error *error)
{
    struct scaling least = {.one = INFINITY,
                            .whole = INFINITY,
                            .share = INFINITY,
                            .share_alone = INFINITY,
                            .together = INFINITY};
    for (size_t i = 0; i < ROUNDS; i++) {
        if (!measure_round(settings, scaling, error))
            return false;
        least.one = fmin(least.one, scaling->one);
        least.whole = fmin(least.whole, scaling->whole);
        least.share = fmin(least.share, scaling->share);
        least.share_alone = fmin(least.share_alone, scaling->share_alone);
        least.together = fmin(least.together, scaling->together);
    }
    scaling->one = least.one;
    scaling->whole = least.whole;
    scaling->share = least.share;
    scaling->share_alone = least.share_alone;
    scaling->together = least.together;
    return true;
}

/* --- turns of all ranks and of one process --- */

/* The blocks: ms of all ranks and of one process, and whether other work disturbed them. */
struct blocks {
    double together[MOST_BLOCKS], one[MOST_BLOCKS];
    bool marked[MOST_BLOCKS];
    size_t count, unmarked;
};

/* Adds the ms of an iteration to *ms: of all ranks, or of one process with the threads that were
 * faster. */
static bool take_turn(const struct bench_settings *settings, const struct scaling *scaling,
                      bool together, double *ms, struct error *error)
{
    struct scaling turn = *scaling;
    size_t threads;
    const bool whole =
        scaling->whole > 0 && scaling_fastest_one(scaling, &threads) == scaling->whole;
    const bool measured = together ? measure_together(settings, &turn, error)
                          : whole  ? measure_whole(settings, &turn, error)
                                   : measure_one(settings, &turn, error);
    const double seconds = together ? turn.together : whole ? turn.whole : turn.one;
    *ms += 1e3 * seconds;
    return measured && (seconds > 0 || cluster_agree(settings->cluster, false, error));
}

/* Takes the four turns of a block. Blocks with odd numbers begin with one process. */
static bool take_block(const struct bench_settings *settings, const struct scaling *scaling,
                       struct blocks *blocks, struct error *error)
{
    double both[2] = {0}, disturbed;
    struct host_contention before, after;
    host_contention_read(&before);
    for (size_t turn = 0; turn < 4; turn++) {
        const bool together = (turn == 0 || turn == 3) == (blocks->count % 2 == 0);
        if (!take_turn(settings, scaling, together, &both[!together], error))
            return false;
    }
    host_contention_read(&after);
    const double mine = host_contention_share(&before, &after, false);
    if (!take_slowest(settings->cluster, mine, &disturbed, error))
        return false;
    blocks->together[blocks->count] = both[0] / 2;
    blocks->one[blocks->count] = both[1] / 2;
    blocks->marked[blocks->count] = disturbed > TURNS_DISTURBED;
    blocks->unmarked += !blocks->marked[blocks->count++];
    return true;
}

/* Lets all ranks and one process take turns, unless the batch does not fit into one process. All
 * ranks know the same times, so that they end after the same block. */
static bool measure_turns_with_one(const struct bench_settings *settings, struct scaling *scaling,
                                   struct error *error)
{
    size_t threads;
    struct blocks blocks = {.count = 0};
    struct bench_settings few = *settings;
    few.iterations = TURN_ITERATIONS;
    if (scaling_fastest_one(scaling, &threads) == 0)
        return true;
    while (blocks.count < MOST_BLOCKS && blocks.unmarked < BLOCKS &&
           blocks.count - blocks.unmarked <= MOST_BLOCKS - BLOCKS)
        if (!take_block(&few, scaling, &blocks, error))
            return false;
    snprintf(scaling->turns.second_precision, sizeof scaling->turns.second_precision, "%s",
             scaling->turns.on.precision);
    scaling->turns.images = 2 * TURN_ITERATIONS * scaling->batch;
    turns_summarise(&scaling->turns, blocks.together, blocks.one, blocks.marked, blocks.count);
    return true;
}

bool scaling_measure(const struct bench_settings *settings, struct scaling *scaling,
                     struct error *error)
{
    *scaling = begin(settings);
    return measure_rounds(settings, scaling, error) &&
           measure_links(settings->cluster, scaling, error) &&
           measure_turns_with_one(settings, scaling, error);
}

bool scaling_compare(const struct bench_settings *settings, struct scaling *scaling,
                     struct error *error)
{
    *scaling = begin(settings);
    return measure_together(settings, scaling, error) && measure_whole(settings, scaling, error) &&
           measure_one(settings, scaling, error);
}

/* --- the model --- */

static double messages(const struct scaling *scaling, size_t ranks, const struct scaling_link *link)
{
    const double bytes = (double)scaling->gradients * sizeof(float);
    if (ranks == 1)
        return 0;
    return steps(ranks) * (double)scaling->gathers * link->gather +
           2 * steps(ranks) * link->latency + 2 * sent(ranks) * bytes * link->seconds_per_byte;
}

double scaling_predict_measured(const struct scaling *scaling)
{
    return scaling->share + messages(scaling, scaling->ranks, &scaling->here);
}

/* Returns the time of an iteration of `images` images in one process. The line goes through both
 * measured points; where the whole batch does not fit, through the origin. */
static double compute(const struct scaling *scaling, double images)
{
    const double whole = (double)scaling->batch, part = whole / (double)scaling->ranks;
    if (scaling->one <= scaling->share_alone)
        return scaling->share_alone * images / part;
    const double slope = (scaling->one - scaling->share_alone) / (whole - part);
    const double fixed = fmax(0, scaling->one - slope * whole);
    return fixed + slope * images;
}

double scaling_fastest_one(const struct scaling *scaling, size_t *threads)
{
    const double one = scaling->one, whole = scaling->whole;
    const bool few = one > 0 && (whole == 0 || one < whole);
    *threads = few ? scaling->threads : scaling->whole_threads;
    return few ? one : whole;
}

double scaling_one(const struct scaling *scaling)
{
    return scaling->one > 0 ? scaling->one : compute(scaling, (double)scaling->batch);
}

double scaling_predict(const struct scaling *scaling, size_t ranks, const struct scaling_link *link)
{
    return compute(scaling, (double)scaling->batch / (double)ranks) +
           messages(scaling, ranks, link);
}

struct scaling_link scaling_network(const struct scaling *scaling, double latency,
                                    double bits_per_second)
{
    struct scaling_link link = scaling->link;
    link.latency += latency;
    link.gather += latency;
    link.seconds_per_byte += 8 / bits_per_second;
    return link;
}
