/* MPI that never begins or never ends, as when a rank is stopped in MPI_Init or MPI_Finalize: each
 * rank gives up after its time, with a reason. Threads of this process are the ranks, and a module
 * that blocks stands for MPI. */
#include "engine/cluster/cluster.h"
#include "engine/cluster/launcher.h"

#include "base/clock.h"

#include "tap.h"
#include "thread_ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2 };

static atomic_int begun, ended, ended_all; /* calls */

static void block(void)
{
    for (;;)
        pause();
}

static bool begin_never(struct cluster_place *place, char *reason)
{
    (void)place, (void)reason;
    begun++;
    block();
    return false;
}

static void end_never(void)
{
    ended++;
    block();
}

static void end_all(int status)
{
    (void)status;
    ended_all++;
}

/* --- the beginning --- */

static void test_begin(void)
{
    /* static, since the thread goes on with it */
    static const struct cluster_module stuck = {
        .abi = CLUSTER_MODULE_ABI, .bytes = sizeof stuck, .version = "", .begin = begin_never};
    struct cluster *cluster = NULL;
    struct error error = {0};
    setenv("TINCA_MPI_START", "0.5", 1);
    const uint64_t start = clock_nanoseconds();
    tap_ok(!cluster_join_module(&stuck, &(struct launch){.launcher = "threads", .ranks = RANKS},
                                &cluster, &error) &&
               !cluster,
           "a rank that MPI never starts does not join");
    const double seconds = clock_seconds(start, clock_nanoseconds());
    tap_ok(seconds > 0.4 && begun == 1, "it has waited for TINCA_MPI_START, %g s", seconds);
    tap_ok(strstr(error.why, "waits for all processes, and 0.5 seconds were not enough") &&
               strstr(error.advice, "TINCA_MPI_START"),
           "it says so: %s; %s", error.why, error.advice);
}

/* --- the end --- */

static const struct cluster_module endless = {.abi = CLUSTER_MODULE_ABI,
                                              .bytes = sizeof endless,
                                              .version = "",
                                              .begin = thread_begin,
                                              .end = end_never,
                                              .end_all = end_all,
                                              .gather = thread_gather,
                                              .test = thread_test,
                                              .send = thread_send,
                                              .receive = thread_receive};

static struct rank {
    struct cluster *cluster;
    bool left;
    double seconds; /* to leave */
    struct error error;
} ranks[RANKS];

static void *join(void *unused)
{
    struct cluster *cluster = NULL;
    if (cluster_join_module(&endless, &(struct launch){.launcher = "threads", .ranks = RANKS},
                            &cluster, NULL))
        ranks[cluster_rank(cluster)].cluster = cluster;
    return unused;
}

static void *leave(void *context)
{
    struct rank *rank = context;
    const uint64_t start = clock_nanoseconds();
    rank->left = cluster_leave(rank->cluster, &rank->error);
    rank->seconds = clock_seconds(start, clock_nanoseconds());
    cluster_close(rank->cluster, 0); /* returns at once, since MPI's thread uses it */
    return NULL;
}

/* Rank 0 leaves later than rank 1, which waits for it. */
static void test_end(void)
{
    pthread_t threads[RANKS];
    thread_ranks.count = RANKS;
    for (size_t r = 0; r < RANKS; r++)
        pthread_create(&threads[r], NULL, join, NULL);
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    if (!tap_ok(ranks[0].cluster && ranks[1].cluster, "%d ranks join", RANKS))
        return;
    pthread_create(&threads[1], NULL, leave, &ranks[1]);
    clock_sleep(2);
    tap_ok(ended == 0, "a rank does not finalise MPI before the others leave, too");
    pthread_create(&threads[0], NULL, leave, &ranks[0]);
    for (size_t r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        tap_ok(!ranks[r].left && ranks[r].error.kind == ERROR_SYSTEM &&
                   strstr(ranks[r].error.why, "it does not end"),
               "rank %zu gives up MPI that does not end: %s", r, ranks[r].error.why);
        tap_ok(ranks[r].seconds > CLUSTER_SILENCE - 1, "  after %g s", ranks[r].seconds);
    }
    tap_ok(ranks[1].seconds - 2 > ranks[0].seconds + 1, "rank 0 first, which is to say it");
    tap_ok(ended == RANKS && ended_all == 0, "nobody calls MPI meanwhile");
}

TEST_CASE(cluster_stuck_test)
{
    test_begin();
    test_end();
    return tap_done();
}
