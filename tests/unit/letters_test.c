/* Letters between the ranks of a cluster, and the loss of a rank. Threads of this process are the
 * ranks, and a module that copies messages between them stands for MPI. It refuses every third
 * message at first, as MPI does while an earlier one has not left. */
#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"

#include "base/clock.h"

#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, BOX = 1000, PART = 1024, LETTERS = 200 };

/* --- the module --- */

struct message {
    size_t from, bytes;
    char text[CLUSTER_MESSAGE];
};

static struct {
    pthread_mutex_t lock;
    struct message *messages[RANKS]; /* by receiver */
    size_t counts[RANKS];
    char parts[RANKS][PART]; /* of the one gather that a cluster does */
    size_t part_bytes, arrived;
    size_t joined, attempts;
    atomic_int ended;     /* ranks that have finalised MPI */
    atomic_int ended_all; /* ranks that have ended the job */
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local size_t me; /* of the thread of a cluster */
static _Thread_local void *gathered;

static bool begin(struct cluster_place *place, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    me = world.joined++;
    pthread_mutex_unlock(&world.lock);
    *place = (struct cluster_place){.rank = me, .ranks = RANKS, .library = "threads"};
    return true;
}

static void end(void)
{
    world.ended++;
}

static void end_all(int status)
{
    (void)status;
    world.ended_all++;
}

static bool gather(const void *mine, size_t bytes, void *all, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    memcpy(world.parts[me], mine, bytes);
    world.part_bytes = bytes;
    world.arrived++;
    pthread_mutex_unlock(&world.lock);
    gathered = all;
    return bytes <= PART;
}

static bool test(bool *complete, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    *complete = world.arrived == RANKS;
    for (size_t r = 0; *complete && r < RANKS; r++)
        memcpy((char *)gathered + r * world.part_bytes, world.parts[r], world.part_bytes);
    pthread_mutex_unlock(&world.lock);
    return true;
}

static bool send(size_t rank, const void *text, size_t bytes)
{
    pthread_mutex_lock(&world.lock);
    const bool sent = ++world.attempts % 3 != 0 && world.counts[rank] < BOX;
    if (sent) {
        struct message *message = &world.messages[rank][world.counts[rank]++];
        message->from = me;
        message->bytes = bytes;
        memcpy(message->text, text, bytes);
    }
    pthread_mutex_unlock(&world.lock);
    return sent;
}

static size_t receive(size_t *rank, void *text, size_t size)
{
    size_t bytes = 0;
    pthread_mutex_lock(&world.lock);
    if (world.counts[me] > 0) {
        struct message *first = world.messages[me];
        *rank = first->from;
        bytes = first->bytes < size ? first->bytes : size;
        memcpy(text, first->text, bytes);
        memmove(first, first + 1, --world.counts[me] * sizeof *first);
    }
    pthread_mutex_unlock(&world.lock);
    return bytes;
}

static const struct cluster_module module = {.abi = CLUSTER_MODULE_ABI,
                                             .bytes = sizeof(struct cluster_module),
                                             .version = "",
                                             .begin = begin,
                                             .end = end,
                                             .end_all = end_all,
                                             .gather = gather,
                                             .test = test,
                                             .send = send,
                                             .receive = receive};

/* --- the ranks --- */

static struct cluster *clusters[RANKS];

static void *join(void *unused)
{
    struct cluster *cluster = NULL;
    if (cluster_join_module(&module, RANKS, "threads", &cluster, NULL))
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
    for (size_t r = 0; r < RANKS; r++) {
        world.messages[r] = calloc(BOX, sizeof *world.messages[r]);
        pthread_create(&threads[r], NULL, join, NULL);
    }
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    return clusters[0] && clusters[1] && clusters[2];
}

/* Waits until a condition is true, for at most 20 seconds. */
#define WAIT_FOR(condition)                                                                        \
    for (int tries = 0; tries < 2000 && !(condition); tries++)                                     \
    clock_sleep(0.01)

/* --- letters --- */

/* Fills a letter with its number; returns its length, which differs from letter to letter. */
static size_t write_letter(size_t number, char letter[CLUSTER_LETTER])
{
    const size_t length = 1 + number * 7 % CLUSTER_LETTER;
    memset(letter, (char)('a' + number % 26), length);
    return length;
}

static bool post_number(size_t from, size_t to, size_t number)
{
    char letter[CLUSTER_LETTER];
    const size_t length = write_letter(number, letter);
    return cluster_post(clusters[from], to, letter, length, NULL);
}

/* Returns whether the next letter of a rank has this number. */
static bool take_number(size_t at, size_t from, size_t number)
{
    char letter[CLUSTER_LETTER], wanted[CLUSTER_LETTER];
    size_t rank = RANKS;
    const size_t length = write_letter(number, wanted);
    return cluster_take(clusters[at], 20, &rank, letter, sizeof letter) == length && rank == from &&
           memcmp(letter, wanted, length) == 0;
}

static void test_letters(void)
{
    bool posted = true, in_order = true;
    for (size_t i = 0; i < LETTERS; i++)
        posted =
            post_number(0, 1, i) && post_number(0, 2, i + 5) && post_number(1, 0, i + 9) && posted;
    tap_ok(posted, "%d letters are sent to each of two ranks, and from one", LETTERS);
    for (size_t i = 0; i < LETTERS; i++)
        in_order = take_number(1, 0, i) && in_order;
    tap_ok(in_order, "one rank takes them in order");
    for (size_t i = 0; i < LETTERS; i++)
        in_order = take_number(2, 0, i + 5) && in_order;
    tap_ok(in_order, "the other too");
    for (size_t i = 0; i < LETTERS; i++)
        in_order = take_number(0, 1, i + 9) && in_order;
    tap_ok(in_order, "and rank 0");

    char text[4];
    size_t rank;
    const uint64_t began = clock_nanoseconds();
    tap_ok(cluster_take(clusters[0], 0.05, &rank, text, sizeof text) == 0 &&
               clock_seconds(began, clock_nanoseconds()) > 0.04,
           "without a letter it waits for a while");
    tap_ok(cluster_post(clusters[2], 0, "too long", 8, NULL) &&
               cluster_take(clusters[0], 20, &rank, text, sizeof text) == sizeof text &&
               memcmp(text, "too ", 4) == 0 && rank == 2,
           "a letter that is too long is cut");
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
           "they exchange letters, past one for the lost rank");
}

static void test_leaving(void)
{
    pthread_t threads[RANKS];
    post_number(0, 1, 4);
    pthread_create(&threads[0], NULL, leave, clusters[0]);
    tap_ok(take_number(1, 0, 4), "rank 0 sends its last letter before it leaves");
    pthread_create(&threads[1], NULL, leave, clusters[1]);
    pthread_create(&threads[2], NULL, leave, clusters[2]);
    for (size_t r = 0; r < 2; r++)
        pthread_join(threads[r], NULL);
    tap_ok(world.ended == 1 && world.ended_all == 1,
           "rank 0 does not wait for the lost rank in MPI, but ends the job");
    pthread_join(threads[2], NULL);
    tap_ok(world.ended_all == 2, "the lost rank ends by itself if nobody ends it");
}

int main(void)
{
    if (tap_ok(join_all(), "%d ranks join", RANKS)) {
        test_letters();
        test_loss();
        test_leaving();
    }
    for (size_t r = 0; r < RANKS; r++)
        free(world.messages[r]);
    return tap_done();
}
