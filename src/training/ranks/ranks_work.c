/* A rank adds up its times over the whole run, and reports the sums. Rank 0 keeps those of the last
 * record and records the differences, so a lost or late message only delays them. The means at the
 * end come from a collective, since the last heartbeat may be a second old. */
#include "training/ranks/ranks_work.h"

#include "base/clock.h"
#include "base/memory.h"
#include "training/ranks/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- measuring --- */

void ranks_meter_begin(struct ranks_meter *meter, struct cluster *cluster)
{
    *meter = (struct ranks_meter){.cluster = cluster, .work = {.process = (uint64_t)getpid()}};
    cluster_reset_activity(cluster);
    if (cluster)
        cluster_set_work(cluster, &meter->work);
}

void ranks_meter_add_data(struct ranks_meter *meter, uint64_t began)
{
    if (meter->cluster)
        meter->work.reading += clock_nanoseconds() - began;
}

void ranks_meter_start(struct ranks_meter *meter)
{
    if (!meter->cluster)
        return;
    meter->began = clock_nanoseconds();
    meter->waited = cluster_waited(meter->cluster);
}

void ranks_meter_stop(struct ranks_meter *meter)
{
    if (!meter->cluster)
        return;
    const uint64_t all = clock_nanoseconds() - meter->began;
    const uint64_t waited = cluster_waited(meter->cluster) - meter->waited;
    meter->work.iterations++;
    meter->work.waiting += waited;
    meter->work.computing += all > waited ? all - waited : 0;
    cluster_set_work(meter->cluster, &meter->work);
}

/* --- recording --- */

static const double first_seconds = 1.5, least_seconds = 2, most_seconds = 60;
static const double share_of_run = 0.01; /* the interval grows with the length of the run */

static size_t recorded(const struct cluster *cluster)
{
    const size_t ranks = cluster_ranks(cluster);
    return ranks < RUN_RANKS_MOST ? ranks : RUN_RANKS_MOST;
}

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)(seconds * 1e9);
}

void ranks_record_begin(struct ranks_record *record, struct run *run, struct ranks_meter *meter)
{
    struct cluster *cluster = run->cluster;
    const struct run_ranks none = {0};
    *record = (struct ranks_record){0};
    run_state_put_ranks(run, &none); /* a resumed run has the ranks of earlier processes */
    if (!cluster)
        return;
    const size_t count = recorded(cluster);
    record->before = memory_new(count, sizeof *record->before, "the ranks", NULL);
    record->ranks.ranks = memory_new(count, sizeof *record->ranks.ranks, "the ranks", NULL);
    if (!record->before || !record->ranks.ranks) {
        free(record->before);
        free(record->ranks.ranks);
        *record = (struct ranks_record){0};
        return;
    }
    record->run = run;
    record->ranks.count = count;
    for (size_t r = 0; r < count; r++) {
        struct rank_work *rank = &record->ranks.ranks[r];
        snprintf(rank->host, sizeof rank->host, "%s", cluster_host(cluster, r));
        rank->compute_ms = rank->data_ms = rank->wait_ms = NAN;
    }
    record->began = clock_nanoseconds();
    record->due = record->began + nanoseconds(first_seconds);
    record->meter = meter;
    ranks_meter_begin(meter, cluster);
}

/* Sets the means over the iterations between two states of a rank; without any, keeps the previous
 * ones. */
static void take_means(struct rank_work *rank, const struct cluster_work *before,
                       const struct cluster_work *now)
{
    rank->process = now->process;
    if (now->iterations <= before->iterations)
        return;
    const uint64_t iterations = now->iterations - before->iterations;
    const double each = 1e-6 / (double)iterations;
    rank->iterations = iterations;
    rank->compute_ms = (double)(now->computing - before->computing) * each;
    rank->data_ms = (double)(now->reading - before->reading) * each;
    rank->wait_ms = (double)(now->waiting - before->waiting) * each;
}

/* Publishes the figures, and adds them to the journal. */
static void put(struct ranks_record *record, uint64_t iteration)
{
    struct json *event = json_new_object();
    run_state_put_ranks(record->run, &record->ranks);
    if (json_add_string(event, "event", "ranks") && json_add_count(event, "iteration", iteration) &&
        run_ranks_add(event, &record->ranks))
        journal_add_event(&record->run->journal, "ranks", event);
    else
        json_free(event);
}

/* Returns whether a report belongs to this run. All ranks compute the same iterations, so a report
 * with more or fewer is a late one of the previous run. */
static bool is_of_run(const struct ranks_record *record, size_t rank,
                      const struct cluster_work *work)
{
    const struct cluster_work *before = &record->before[rank];
    return work->process != 0 && work->iterations <= record->meter->work.iterations + 1 &&
           work->iterations >= before->iterations && work->computing >= before->computing &&
           work->reading >= before->reading && work->waiting >= before->waiting;
}

void ranks_record_step(struct ranks_record *record, uint64_t iteration, uint64_t now)
{
    if (!record->run || now < record->due)
        return;
    for (size_t r = 0; r < record->ranks.count; r++) {
        struct cluster_work work;
        cluster_work(record->run->cluster, r, &work);
        if (!is_of_run(record, r, &work))
            continue;
        take_means(&record->ranks.ranks[r], &record->before[r], &work);
        record->before[r] = work;
    }
    put(record, iteration);
    const double grown = clock_seconds(record->began, now) * share_of_run;
    record->due = now + nanoseconds(fmin(most_seconds, fmax(least_seconds, grown)));
}

void ranks_record_end(struct ranks_record *record, uint64_t iteration)
{
    if (!record->run)
        return;
    struct cluster *cluster = record->run->cluster;
    const struct cluster_work none = {0};
    struct cluster_work *all = ranks_collect_work(cluster, &record->meter->work);
    for (size_t r = 0; r < record->ranks.count; r++) {
        struct cluster_work work;
        if (all)
            work = all[r];
        else
            cluster_work(cluster, r, &work);
        if (work.process != 0)
            take_means(&record->ranks.ranks[r], &none, &work);
    }
    free(all);
    put(record, iteration);
}

void ranks_record_free(struct ranks_record *record)
{
    free(record->before);
    run_ranks_free(&record->ranks);
    *record = (struct ranks_record){0};
}
