/* MPI that never begins or never ends, as when a rank is stopped in MPI_Init or MPI_Finalize: each
 * rank gives up after its time, with a reason. Threads of this process are the ranks, and a module
 * that blocks stands for MPI. */
#include "engine/cluster/cluster.h"
#include "engine/cluster/cluster_module.h"

#include "base/clock.h"

#include "tap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 2, BOX = 100 };

struct message {
    size_t bytes;
    char text[CLUSTER_MESSAGE];
};

/* The processes of one job. */
static struct {
    pthread_mutex_t lock;
    struct message messages[RANKS][BOX]; /* by receiver; the other rank has sent them */
    size_t counts[RANKS];
    char parts[RANKS][1024]; /* of the one gather that a cluster does */
    size_t joined, arrived, part_bytes;
    atomic_int begun, ended, ended_all; /* calls */
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local size_t me;
static _Thread_local char *gathered;

static void block(void)
{
    for (;;)
        pause();
}

static bool begin_never(struct cluster_place *place, char *reason)
{
    (void)place, (void)reason;
    world.begun++;
    block();
    return false;
}

static bool begin(struct cluster_place *place, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    me = world.joined++;
    pthread_mutex_unlock(&world.lock);
    *place = (struct cluster_place){.rank = me, .ranks = RANKS, .library = "threads"};
    return true;
}

static void end_never(void)
{
    world.ended++;
    block();
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
    return true;
}

static bool test(bool *complete, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    *complete = world.arrived == RANKS;
    for (size_t r = 0; *complete && r < RANKS; r++)
        memcpy(gathered + r * world.part_bytes, world.parts[r], world.part_bytes);
    pthread_mutex_unlock(&world.lock);
    return true;
}

static bool send(size_t rank, const void *text, size_t bytes)
{
    pthread_mutex_lock(&world.lock);
    const bool sent = world.counts[rank] < BOX;
    if (sent) {
        struct message *message = &world.messages[rank][world.counts[rank]++];
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
        *rank = 1 - me;
        bytes = first->bytes < size ? first->bytes : size;
        memcpy(text, first->text, bytes);
        memmove(first, first + 1, --world.counts[me] * sizeof *first);
    }
    pthread_mutex_unlock(&world.lock);
    return bytes;
}

/* --- the beginning --- */

static void test_begin(void)
{
    const struct cluster_module module = {
        .abi = CLUSTER_MODULE_ABI, .bytes = sizeof module, .version = "", .begin = begin_never};
    static struct cluster_module stuck; /* the thread goes on with it */
    struct cluster *cluster = NULL;
    struct error error = {0};
    stuck = module;
    setenv("TINCA_MPI_START", "0.5", 1);
    const uint64_t began = clock_nanoseconds();
    tap_ok(!cluster_join_module(&stuck, RANKS, "threads", &cluster, &error) && !cluster,
           "a rank that MPI never starts does not join");
    const double seconds = clock_seconds(began, clock_nanoseconds());
    tap_ok(seconds > 0.4 && world.begun == 1, "it has waited for TINCA_MPI_START, %g s", seconds);
    tap_ok(strstr(error.why, "waits for all processes, and 0.5 seconds were not enough") &&
               strstr(error.advice, "TINCA_MPI_START"),
           "it says so: %s; %s", error.why, error.advice);
}

/* --- the end --- */

static const struct cluster_module endless = {.abi = CLUSTER_MODULE_ABI,
                                              .bytes = sizeof endless,
                                              .version = "",
                                              .begin = begin,
                                              .end = end_never,
                                              .end_all = end_all,
                                              .gather = gather,
                                              .test = test,
                                              .send = send,
                                              .receive = receive};

static struct rank {
    struct cluster *cluster;
    bool left;
    double seconds; /* to leave */
    struct error error;
} ranks[RANKS];

static void *join(void *unused)
{
    struct cluster *cluster = NULL;
    if (cluster_join_module(&endless, RANKS, "threads", &cluster, NULL))
        ranks[cluster_rank(cluster)].cluster = cluster;
    return unused;
}

static void *leave(void *context)
{
    struct rank *rank = context;
    const uint64_t began = clock_nanoseconds();
    rank->left = cluster_leave(rank->cluster, &rank->error);
    rank->seconds = clock_seconds(began, clock_nanoseconds());
    cluster_close(rank->cluster, 0); /* returns at once, since MPI's thread uses it */
    return NULL;
}

/* Rank 0 leaves later than rank 1, which waits for it. */
static void test_end(void)
{
    pthread_t threads[RANKS];
    for (size_t r = 0; r < RANKS; r++)
        pthread_create(&threads[r], NULL, join, NULL);
    for (size_t r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    if (!tap_ok(ranks[0].cluster && ranks[1].cluster, "%d ranks join", RANKS))
        return;
    pthread_create(&threads[1], NULL, leave, &ranks[1]);
    clock_sleep(2);
    tap_ok(world.ended == 0, "a rank does not finalise MPI before the others leave, too");
    pthread_create(&threads[0], NULL, leave, &ranks[0]);
    for (size_t r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        tap_ok(!ranks[r].left && ranks[r].error.kind == ERROR_SYSTEM &&
                   strstr(ranks[r].error.why, "it does not end"),
               "rank %zu gives up MPI that does not end: %s", r, ranks[r].error.why);
        tap_ok(ranks[r].seconds > CLUSTER_SILENCE - 1, "  after %g s", ranks[r].seconds);
    }
    tap_ok(ranks[1].seconds - 2 > ranks[0].seconds + 1, "rank 0 first, which is to say it");
    tap_ok(world.ended == RANKS && world.ended_all == 0, "nobody calls MPI meanwhile");
}

int main(void)
{
    test_begin();
    test_end();
    return tap_done();
}
