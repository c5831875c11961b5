/* A rank whose training thread hangs while its process lives (cluster_watch.c): all ranks fail with
 * its name and what it was doing. A rank that waits for others, is paused, saves or computes
 * without a measure does not hang. Threads of this process are the ranks, and a module that copies
 * messages between them stands for MPI. */
#include "engine/cluster/cluster.h"
#include "engine/cluster/launcher.h"

#include "base/clock.h"

#include "tap.h"
#include "thread_ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, WORLDS = 8 };
static const double limit = 0.5; /* seconds: TINCA_HANG */

/* --- the module --- */

static atomic_int ended_all;
static atomic_bool lost; /* no gather is complete any more */

static void end(void)
{
}

static void end_all(int status)
{
    (void)status;
    ended_all++;
}

static bool test_unless_lost(bool *complete, char *reason)
{
    *complete = false;
    return lost || thread_test(complete, reason);
}

static const struct cluster_module module = {.abi = CLUSTER_MODULE_ABI,
                                             .bytes = sizeof(struct cluster_module),
                                             .version = "",
                                             .begin = thread_begin,
                                             .end = end,
                                             .end_all = end_all,
                                             .gather = thread_gather,
                                             .test = test_unless_lost,
                                             .send = thread_send,
                                             .receive = thread_receive};

/* --- the ranks --- */

static struct rank {
    struct cluster *cluster;
    pthread_t thread;
    bool gathered;
    char all[RANKS];
} worlds[WORLDS][RANKS];

static size_t world_count;
static struct rank *ranks; /* of the present world */

static void *join(void *unused)
{
    struct cluster *cluster = NULL;
    if (cluster_join_module(&module, &(struct launch){.launcher = "threads", .ranks = RANKS},
                            &cluster, NULL))
        ranks[cluster_rank(cluster)].cluster = cluster;
    return unused;
}

static void *gather(void *context)
{
    struct rank *rank = context;
    const char mine = 'x';
    rank->gathered = cluster_gather(rank->cluster, &mine, 1, rank->all);
    return NULL;
}

static void *leave(void *context)
{
    struct rank *rank = context;
    cluster_close(rank->cluster, 0);
    return NULL;
}

static void start(void *function(void *), size_t rank)
{
    pthread_create(&ranks[rank].thread, NULL, function, &ranks[rank]);
}

static void finish(size_t rank)
{
    pthread_join(ranks[rank].thread, NULL);
}

/* Lets all ranks do something at the same time. */
static void all_do(void *function(void *))
{
    for (size_t r = 0; r < RANKS; r++)
        start(function, r);
    for (size_t r = 0; r < RANKS; r++)
        finish(r);
}

static void all_set(enum cluster_activity activity, uint64_t iteration)
{
    for (size_t r = 0; r < RANKS; r++)
        cluster_set_activity(ranks[r].cluster, activity, iteration);
}

/* Joins anew; all ranks have computed an iteration of a moment if `measured`. */
static void begin(const char *hang, bool measured)
{
    setenv("TINCA_HANG", hang, 1);
    ranks = worlds[world_count++];
    thread_ranks.count = RANKS;
    thread_ranks.joined = thread_ranks.arrived = 0;
    memset(thread_ranks.message_counts, 0, sizeof thread_ranks.message_counts);
    lost = false;
    all_do(join);
    for (size_t r = 0; r < RANKS; r++)
        cluster_reset_activity(ranks[r].cluster);
    if (!measured)
        return;
    all_set(CLUSTER_COMPUTING, 6);
    clock_sleep(0.001);
    all_set(CLUSTER_IDLE, 0);
}

static void end_ranks(void)
{
    all_do(leave);
}

static bool all_are_well(void)
{
    bool well = true;
    for (size_t r = 0; r < RANKS; r++)
        well = cluster_check(ranks[r].cluster, NULL) && well;
    return well;
}

/* Waits until a rank has failed, for at most 20 seconds. */
static bool fails(size_t rank, struct error *error)
{
    bool failed = false;
    *error = (struct error){0};
    for (int tries = 0; tries < 2000 && !failed; tries++) {
        clock_sleep(0.01);
        failed = !cluster_check(ranks[rank].cluster, error);
    }
    return failed;
}

/* Computes for so many seconds. */
static void compute(double seconds)
{
    const uint64_t began = clock_nanoseconds();
    while (clock_seconds(began, clock_nanoseconds()) < seconds)
        ;
}

/* --- tests --- */

/* A rank hangs while the others wait for it. */
static void test_hang(size_t hung, enum cluster_activity activity, const char *doing)
{
    struct error error, own;
    begin("0.5", true);
    all_set(CLUSTER_COMPUTING, 7);
    cluster_set_activity(ranks[hung].cluster, activity, 7);
    const uint64_t began = clock_nanoseconds();
    for (size_t r = 0; r < RANKS; r++)
        if (r != hung)
            start(gather, r);
    const bool failed = fails(hung, &own);
    tap_ok(failed && strcmp(own.what, "iteration 7") == 0 && strstr(own.why, doing),
           "rank %zu hangs: %s: %s", hung, own.what, own.why);
    bool ended = true, named = true;
    for (size_t r = 0; r < RANKS; r++) {
        char name[32];
        snprintf(name, sizeof name, "rank %zu on ", hung);
        if (r == hung)
            continue;
        named = fails(r, &error) && strncmp(error.what, name, strlen(name)) == 0 &&
                strstr(error.why, "iteration 7: it hangs") && strstr(error.why, doing) && named;
        finish(r);
        ended = !ranks[r].gathered && ended;
    }
    const double seconds = clock_seconds(began, clock_nanoseconds());
    tap_ok(ended && seconds >= limit, "  the others end, after %g s", seconds);
    tap_ok(named, "  and name it: %s: %s", error.what, error.why);
    bool one = true;
    for (size_t r = 0; r < RANKS; r++)
        one = one &&
              cluster_failed_elsewhere(ranks[r].cluster) == (r != hung && !(hung == 0 && r == 1));
    tap_ok(one, "  %s", hung == 0 ? "rank 1 is to report it" : "rank 0 reports it");
}

/* A checkpoint within a validation does not end the watch over the validation. */
static void test_save_within(void)
{
    struct error error;
    begin("0.5", true);
    struct cluster *const cluster = ranks[0].cluster;
    cluster_set_activity(cluster, CLUSTER_VALIDATING, 7);
    const enum cluster_activity before = cluster_set_activity(cluster, CLUSTER_SAVING, 0);
    cluster_set_activity(cluster, before, 0);
    tap_ok(before == CLUSTER_VALIDATING && fails(0, &error) &&
               strcmp(error.what, "iteration 7") == 0,
           "a rank hangs in a validation after a save within it: %s: %s", error.what, error.why);
}

/* No rank of the worlds that have failed leaves, as if all hung. */
static void test_end(size_t first)
{
    for (int tries = 0; tries < 300 && ended_all == 0; tries++)
        clock_sleep(0.1);
    tap_ok(ended_all > 0, "a process that hangs ends all if nobody else does");
    for (size_t w = first; w < world_count; w++) /* side by side, since a leave takes seconds */
        for (size_t r = 0; r < RANKS; r++)
            pthread_create(&worlds[w][r].thread, NULL, leave, &worlds[w][r]);
    for (size_t w = first; w < world_count; w++)
        for (size_t r = 0; r < RANKS; r++)
            pthread_join(worlds[w][r].thread, NULL);
}

static void test_patience(void)
{
    begin("0.5", true);
    clock_sleep(3 * limit);
    tap_ok(all_are_well(), "ranks that are idle do not hang");
    all_set(CLUSTER_SAVING, 0);
    clock_sleep(3 * limit);
    tap_ok(all_are_well(), "nor do those that save, for ten times as long");
    for (int batch = 0; batch < 5; batch++) {
        all_set(CLUSTER_VALIDATING, 0);
        clock_sleep(limit / 2);
    }
    tap_ok(all_are_well(), "nor those whose validation goes on");
    all_set(CLUSTER_VALIDATING, 0);
    compute(3 * limit);
    tap_ok(all_are_well(), "nor those that compute in it");
    all_set(CLUSTER_IDLE, 0);
    start(gather, 0);
    start(gather, 2);
    clock_sleep(3 * limit);
    tap_ok(all_are_well(), "nor those that wait for one that is idle");
    start(gather, 1);
    for (size_t r = 0; r < RANKS; r++)
        finish(r);
    tap_ok(ranks[0].gathered && ranks[1].gathered && ranks[2].gathered, "  which comes at last");
    for (size_t r = 0; r < RANKS; r++)
        cluster_reset_activity(ranks[r].cluster);
    all_set(CLUSTER_COMPUTING, 1);
    compute(3 * limit);
    tap_ok(all_are_well(), "nor those that compute their first iteration");
    all_set(CLUSTER_IDLE, 0);
    all_set(CLUSTER_COMPUTING, 2);
    clock_sleep(3 * limit);
    tap_ok(all_are_well(), "nor those whose second is as long as that");
    all_set(CLUSTER_IDLE, 0);
    end_ranks();

    begin("0", true);
    all_set(CLUSTER_COMPUTING, 7);
    clock_sleep(3 * limit);
    tap_ok(all_are_well(), "TINCA_HANG=0 waits for ever");
    all_set(CLUSTER_IDLE, 0);
    end_ranks();
}

/* All ranks wait, since messages are lost. */
static void test_standstill(void)
{
    struct error error;
    begin("0.5", true);
    all_set(CLUSTER_COMPUTING, 7);
    lost = true;
    for (size_t r = 0; r < RANKS; r++)
        start(gather, r);
    tap_ok(fails(0, &error) && strcmp(error.what, "iteration 7") == 0 &&
               strstr(error.why, "all ranks have waited for each other"),
           "a gather that loses messages: %s: %s", error.what, error.why);
    cluster_fail(ranks[1].cluster, &error);
    cluster_fail(ranks[2].cluster, &error);
    for (size_t r = 0; r < RANKS; r++)
        finish(r);
}

TEST_CASE(cluster_hang_test)
{
    test_patience();
    const size_t first = world_count; /* that fails */
    test_hang(1, CLUSTER_READING, "reading its images");
    test_hang(0, CLUSTER_COMPUTING, "computing");
    test_hang(2, CLUSTER_COMPUTING, "computing");
    test_standstill();
    test_save_within();
    test_end(first);
    return tap_done();
}
