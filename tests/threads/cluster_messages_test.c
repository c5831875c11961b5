/* Messages between the ranks of a cluster, and the loss of a rank. Threads of this process are the
 * ranks, and a module that copies messages between them stands for MPI. It refuses every third
 * message at first, as MPI does while an earlier one has not left. */
#include "engine/cluster/cluster.h"
#include "engine/cluster/launcher.h"

#include "base/clock.h"

#include "tap.h"
#include "thread_ranks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { RANKS = 3, MESSAGES = 200 };

/* --- the module --- */

static atomic_int ended, ended_all; /* ranks that have finalised MPI; that have ended the job */

static void end(void)
{
    ended++;
}

static void end_all(int status)
{
    (void)status;
    ended_all++;
}

static const struct cluster_module module = {.abi = CLUSTER_MODULE_ABI,
                                             .bytes = sizeof(struct cluster_module),
                                             .version = "",
                                             .begin = thread_begin,
                                             .end = end,
                                             .end_all = end_all,
                                             .gather = thread_gather,
                                             .test = thread_test,
                                             .send = thread_send,
                                             .receive = thread_receive};

/* --- the ranks --- */

static struct cluster *clusters[RANKS];

static void *join(void *unused)
{
    struct cluster *cluster = NULL;
    if (cluster_join_module(&module, &(struct launch){.launcher = "threads", .ranks = RANKS},
                            &cluster, NULL))
        clusters[cluster_rank(cluster)] = cluster;
    return unused;
}

static void *leave(void *cluster)
{
    cluster_close(cluster, 0);
    return NULL;
}

static bool join_all(void)
{
    pthread_t threads[RANKS];
    thread_ranks.count = RANKS;
    thread_ranks.refuse_every = 3;
    for (size_t r = 0; r < RANKS; r++)
        pthread_create(&threads[r], NULL, join, NULL);
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    return clusters[0] && clusters[1] && clusters[2];
}

/* Waits until a condition is true, for at most 20 seconds. */
#define WAIT_FOR(condition)                                                                        \
    for (int tries = 0; tries < 2000 && !(condition); tries++)                                     \
    clock_sleep(0.01)

/* --- messages --- */

/* Fills a message with its number; returns its length, which differs from message to message. */
static size_t write_message(size_t number, char message[CLUSTER_PAYLOAD])
{
    const size_t length = 1 + number * 7 % CLUSTER_PAYLOAD;
    memset(message, (char)('a' + number % 26), length);
    return length;
}

static bool post_number(size_t from, size_t to, size_t number)
{
    char message[CLUSTER_PAYLOAD];
    const size_t length = write_message(number, message);
    return cluster_post(clusters[from], to, message, length, NULL);
}

/* Returns whether the next message of a rank has this number. */
static bool take_number(size_t at, size_t from, size_t number)
{
    char message[CLUSTER_PAYLOAD], wanted[CLUSTER_PAYLOAD];
    size_t rank = RANKS;
    const size_t length = write_message(number, wanted);
    return cluster_take(clusters[at], 20, &rank, message, sizeof message) == length &&
           rank == from && memcmp(message, wanted, length) == 0;
}

static void test_messages(void)
{
    bool posted = true, in_order = true;
    for (size_t i = 0; i < MESSAGES; i++)
        posted =
            post_number(0, 1, i) && post_number(0, 2, i + 5) && post_number(1, 0, i + 9) && posted;
    tap_ok(posted, "%d messages are sent to each of two ranks, and from one", MESSAGES);
    for (size_t i = 0; i < MESSAGES; i++)
        in_order = take_number(1, 0, i) && in_order;
    tap_ok(in_order, "one rank takes them in order");
    for (size_t i = 0; i < MESSAGES; i++)
        in_order = take_number(2, 0, i + 5) && in_order;
    tap_ok(in_order, "the other too");
    for (size_t i = 0; i < MESSAGES; i++)
        in_order = take_number(0, 1, i + 9) && in_order;
    tap_ok(in_order, "and rank 0");

    char text[4];
    size_t rank;
    const uint64_t began = clock_nanoseconds();
    tap_ok(cluster_take(clusters[0], 0.05, &rank, text, sizeof text) == 0 &&
               clock_seconds(began, clock_nanoseconds()) > 0.04,
           "without a message it waits for a while");
    tap_ok(cluster_post(clusters[2], 0, "too long", 8, NULL) &&
               cluster_take(clusters[0], 20, &rank, text, sizeof text) == sizeof text &&
               memcmp(text, "too ", 4) == 0 && rank == 2,
           "a message that is too long is cut");
}

/* --- losses --- */

static void test_loss(void)
{
    struct error error;
    for (size_t r = 0; r < RANKS; r++)
        cluster_tolerate_losses(clusters[r]);
    error_set(&error, ERROR_SYSTEM, "disk", NULL, "it is full");
    cluster_fail(clusters[2], &error);
    WAIT_FOR(cluster_is_lost(clusters[0], 2));
    tap_ok(cluster_is_lost(clusters[0], 2) && !cluster_is_lost(clusters[0], 1),
           "a rank that fails is lost for rank 0");
    tap_ok(!cluster_check(clusters[2], &error) && strcmp(error.why, "it is full") == 0,
           "it itself has failed");
    tap_ok(cluster_check(clusters[0], NULL) && cluster_check(clusters[1], NULL),
           "the others have not");
    tap_ok(post_number(0, 2, 1) && post_number(0, 1, 2) && take_number(1, 0, 2) &&
               post_number(1, 0, 3) && take_number(0, 1, 3),
           "they exchange messages, past one for the lost rank");
}

static void test_leaving(void)
{
    pthread_t threads[RANKS];
    post_number(0, 1, 4);
    pthread_create(&threads[0], NULL, leave, clusters[0]);
    tap_ok(take_number(1, 0, 4), "rank 0 sends its last message before it leaves");
    pthread_create(&threads[1], NULL, leave, clusters[1]);
    pthread_create(&threads[2], NULL, leave, clusters[2]);
    for (size_t r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
    tap_ok(ended == 1 && ended_all == 1,
           "rank 0 does not wait for the lost rank in MPI, but ends the job");
    pthread_join(threads[2], NULL);
    tap_ok(ended_all == 2, "the lost rank ends by itself if nobody ends it");
}

TEST_CASE(cluster_messages_test)
{
    if (tap_ok(join_all(), "%d ranks join", RANKS)) {
        test_messages();
        test_loss();
        test_leaving();
    }
    return tap_done();
}
