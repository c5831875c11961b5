/* Tests sums over ranks that proceed while others gather, and in windows: the ranks are threads of
 * this process, with a module that moves their values as MPI would. The sums must have the bits of
 * the tree for any division into sums, and in bf16 those of rounding before each message; also
 * where the ranks have several subtrees of the tree. */
#include "engine/cluster/cluster_sums.h"

#include "base/float16.h"
#include "base/memory.h"
#include "base/threads/thread.h"
#include "engine/cluster/cluster_module.h"
#include "engine/cluster/launcher.h"
#include "engine/graph/image_blocks.h"
#include "tap.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 5, MOST_SUBTREES = 4, COUNT = 1003, MESSAGES = 64, ROUNDS = 20 };

/* --- a module for ranks in one process --- */

enum kind { GATHER, BROADCAST, BARRIER, SCATTER, COLLECT, ADD };

/* What a rank has started; lane 0: collectives, lane 1: those of sums. */
struct posted {
    enum kind kind;
    const void *from;
    void *to;
    size_t count, bytes;
    bool there, done;
};

static struct {
    pthread_mutex_t lock;
    size_t ranks, joined;
    bool hosts; /* each rank is on a host of its own */
    struct batch_subtrees subtrees;
    struct posted posted[2][MOST_RANKS];
    struct {
        size_t from, bytes;
        char text[CLUSTER_MESSAGE];
    } messages[MOST_RANKS][MESSAGES];
    size_t sent[MOST_RANKS], received[MOST_RANKS];
    struct {
        char *memory;
        size_t calls;
    } windows[CLUSTER_WINDOWS];
    bool refuses; /* rank 1 cannot have a window */
    uint64_t bytes_moved;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread size_t me;

static bool begin(struct cluster_place *place, char *reason)
{
    (void)reason;
    pthread_mutex_lock(&world.lock);
    me = world.joined++;
    pthread_mutex_unlock(&world.lock);
    *place = (struct cluster_place){.rank = me,
                                    .ranks = world.ranks,
                                    .first_local = world.hosts ? me : 0,
                                    .library = "threads"};
    return true;
}

static void end(void)
{
}

static void end_all(int status)
{
    exit(status);
}

static bool post(size_t lane, struct posted what)
{
    pthread_mutex_lock(&world.lock);
    what.there = true;
    world.posted[lane][me] = what;
    pthread_mutex_unlock(&world.lock);
    return true;
}

static bool gather(const void *mine, size_t bytes, void *all, char *reason)
{
    (void)reason;
    return post(0, (struct posted){GATHER, mine, all, bytes, 1, false, false});
}

static bool broadcast(void *data, size_t bytes, char *reason)
{
    (void)reason;
    return post(0, (struct posted){BROADCAST, data, data, bytes, 1, false, false});
}

static bool barrier(char *reason)
{
    (void)reason;
    return post(0, (struct posted){BARRIER, NULL, NULL, 0, 0, false, false});
}

/* The first rank that comes allocates the memory. */
static bool share(size_t number, size_t bytes, void **segments, char *reason)
{
    pthread_mutex_lock(&world.lock);
    char **memory = &world.windows[number].memory;
    const bool first = world.windows[number].calls++ % world.ranks == 0;
    if (first) {
        free(*memory);
        *memory = bytes ? malloc(world.ranks * bytes) : NULL;
    }
    for (size_t r = 0; bytes && r < world.ranks; r++)
        segments[r] = *memory + r * bytes;
    pthread_mutex_unlock(&world.lock);
    snprintf(reason, CLUSTER_REASON, "no room for it");
    return bytes == 0 || (*memory && !(world.refuses && me == 1));
}

static bool scatter(const void *values, size_t count, size_t bytes, void *shards, char *reason)
{
    (void)reason;
    return post(1, (struct posted){SCATTER, values, shards, count, bytes, false, false});
}

static bool collect(void *values, size_t count, size_t bytes, char *reason)
{
    (void)reason;
    return post(1, (struct posted){COLLECT, values, values, count, bytes, false, false});
}

static bool add(float *values, size_t count, char *reason)
{
    (void)reason;
    return post(1, (struct posted){ADD, values, values, count, sizeof *values, false, false});
}

/* Copies what rank `from` has for rank `to`. */
static void move(const struct posted *all, size_t from, size_t to)
{
    const struct posted *a = &all[from], *b = &all[to];
    const size_t owner = a->kind == SCATTER ? to : from;
    const size_t first = cluster_shard_begin(a->count, world.ranks, owner) * a->bytes;
    const size_t length = cluster_shard_begin(a->count, world.ranks, owner + 1) * a->bytes - first;
    if (a->kind == GATHER)
        memcpy((char *)b->to + from * a->count, a->from, a->count);
    else if (a->kind == BROADCAST && from == 0 && to != 0)
        memcpy(b->to, a->from, a->count);
    else if (a->kind == SCATTER)
        memcpy((char *)b->to + from * length, (const char *)a->from + first, length);
    else if (a->kind == COLLECT && from != to)
        memcpy((char *)b->to + first, (const char *)a->from + first, length);
    if (a->kind >= SCATTER && from != to)
        world.bytes_moved += length;
}

/* Adds in the order of the ranks from the last one. */
static void add_all(const struct posted *all)
{
    for (size_t i = 0; i < all[0].count; i++) {
        float sum = 0;
        for (size_t r = world.ranks; r-- > 0;)
            sum += ((const float *)all[r].from)[i];
        for (size_t r = 0; r < world.ranks; r++)
            ((float *)all[r].to)[i] = sum;
    }
}

static void perform(struct posted *all)
{
    if (all[0].kind == ADD)
        add_all(all);
    else
        for (size_t from = 0; from < world.ranks; from++)
            for (size_t to = 0; to < world.ranks; to++)
                move(all, from, to);
    for (size_t r = 0; r < world.ranks; r++) {
        all[r].there = false;
        all[r].done = true;
    }
}

static bool test_lane(size_t lane, bool *complete, char *reason)
{
    bool ready = true, alike = true;
    pthread_mutex_lock(&world.lock);
    struct posted *all = world.posted[lane];
    for (size_t r = 0; r < world.ranks; r++) {
        ready &= all[r].there;
        alike &= !ready || (all[r].kind == all[0].kind && all[r].count == all[0].count);
    }
    if (ready && alike)
        perform(all);
    *complete = all[me].done;
    pthread_mutex_unlock(&world.lock);
    if (!alike)
        snprintf(reason, CLUSTER_REASON, "the ranks have started different collectives");
    return alike;
}

static bool test(bool *complete, char *reason)
{
    return test_lane(0, complete, reason);
}

static bool test_sum(bool *complete, char *reason)
{
    return test_lane(1, complete, reason);
}

static bool send(size_t rank, const void *message, size_t bytes)
{
    pthread_mutex_lock(&world.lock);
    const size_t n = world.sent[rank]++ % MESSAGES;
    world.messages[rank][n].from = me;
    world.messages[rank][n].bytes = bytes;
    memcpy(world.messages[rank][n].text, message, bytes);
    pthread_mutex_unlock(&world.lock);
    return true;
}

static size_t receive(size_t *rank, void *message, size_t size)
{
    size_t bytes = 0;
    pthread_mutex_lock(&world.lock);
    if (world.received[me] < world.sent[me]) {
        const size_t n = world.received[me]++ % MESSAGES;
        *rank = world.messages[me][n].from;
        bytes = world.messages[me][n].bytes;
        memcpy(message, world.messages[me][n].text, bytes < size ? bytes : size);
    }
    pthread_mutex_unlock(&world.lock);
    return bytes;
}

static const struct cluster_module module = {.abi = CLUSTER_MODULE_ABI,
                                             .bytes = sizeof(struct cluster_module),
                                             .version = "test",
                                             .begin = begin,
                                             .end = end,
                                             .end_all = end_all,
                                             .gather = gather,
                                             .broadcast = broadcast,
                                             .barrier = barrier,
                                             .share = share,
                                             .test = test,
                                             .scatter = scatter,
                                             .collect = collect,
                                             .add = add,
                                             .test_sum = test_sum,
                                             .send = send,
                                             .receive = receive};

/* --- the sums --- */

/* A rank, and what it is to do. */
struct rank {
    pthread_t thread;
    enum cluster_sum_kind kind;
    size_t buckets;
    struct cluster_cost cost;
    float sums[MOST_SUBTREES * COUNT]; /* by subtree */
    bool good, gathers;
};

static float value_of(size_t block, size_t i, size_t round)
{
    return sinf((float)(i * 7 + block * 131 + round)) * (float)(1 + i % 17);
}

/* Returns the sum of values of blocks in the tree. */
static float tree(size_t begin, size_t count, size_t i, size_t round)
{
    if (count == 1)
        return value_of(begin, i, round);
    const size_t left = image_blocks_left(count);
    return tree(begin, left, i, round) + tree(begin + left, count - left, i, round);
}

/* Returns the value of a subtree. */
static float subtree_value(const struct batch_subtree *subtree, size_t i, size_t round)
{
    const size_t each = world.subtrees.blocks / world.subtrees.ranks;
    return tree(subtree->rank * each + subtree->begin, subtree->count, i, round);
}

/* Returns the sum of values of ranks in their tree, as they are sent in bf16. */
static float tree_of_bf16(size_t begin, size_t count, size_t i, size_t round)
{
    if (count == 1) {
        struct batch_subtree list[BATCH_SUBTREES_LIMIT];
        const size_t found = batch_subtrees_list(&world.subtrees, begin, list);
        float value = subtree_value(&list[0], i, round);
        for (size_t p = 1; p < found; p++)
            value += subtree_value(&list[p], i, round);
        return bf16_to_float(bf16_from_float(value));
    }
    const size_t left = image_blocks_left(count);
    return tree_of_bf16(begin, left, i, round) + tree_of_bf16(begin + left, count - left, i, round);
}

/* Sets the values of a rank's subtrees. What it does not have does not count. */
static void set_values(struct rank *rank, size_t own, size_t round)
{
    struct batch_subtree list[BATCH_SUBTREES_LIMIT];
    const size_t found = batch_subtrees_list(&world.subtrees, own, list);
    for (size_t p = 0; p < MOST_SUBTREES; p++)
        for (size_t i = 0; i < COUNT; i++)
            rank->sums[p * COUNT + i] = p < found ? subtree_value(&list[p], i, round) : NAN;
}

/* Starts the sums of all buckets, and gathers after each. */
static bool sum_round(struct cluster *cluster, struct rank *rank, float *shards, size_t round)
{
    const size_t ranks = cluster_ranks(cluster), own = cluster_rank(cluster);
    struct cluster_sum sums[16];
    double all[MOST_RANKS];
    set_values(rank, own, round);
    for (size_t b = 0; b < rank->buckets; b++) {
        const size_t first = COUNT * b / rank->buckets, last = COUNT * (b + 1) / rank->buckets;
        const double mine = (double)(100 * own + b);
        sums[b] = (struct cluster_sum){.values = rank->sums + first,
                                       .count = last - first,
                                       .shards = shards,
                                       .kind = rank->kind};
        if (world.subtrees.blocks != ranks) { /* otherwise the default, one subtree of each */
            sums[b].subtrees = world.subtrees;
            sums[b].stride = COUNT;
        }
        cluster_sums_start(cluster, &sums[b]);
        if (!cluster_gather(cluster, &mine, sizeof mine, all))
            return false;
        for (size_t r = 0; r < ranks; r++)
            rank->gathers &= all[r] == (double)(100 * r + b);
    }
    return cluster_sums_wait(cluster);
}

static bool is_right(const struct rank *rank, size_t ranks, size_t round)
{
    bool right = true;
    for (size_t i = 0; i < COUNT; i++) {
        float expected = rank->kind == CLUSTER_SUM_BF16
                             ? bf16_to_float(bf16_from_float(tree_of_bf16(0, ranks, i, round)))
                             : tree(0, world.subtrees.blocks, i, round);
        right &= rank->kind == CLUSTER_SUM_FAST
                     ? fabsf(rank->sums[i] - expected) < 3e-4f
                     : memcmp(&rank->sums[i], &expected, sizeof expected) == 0;
    }
    return right;
}

static void *run_rank(void *context)
{
    struct rank *rank = context;
    struct cluster *cluster;
    struct error error;
    rank->gathers = true;
    rank->good = cluster_join_module(
        &module, &(struct launch){.launcher = "test", .ranks = world.ranks}, &cluster, &error);
    float *shards = memory_new(world.subtrees.most * cluster_sum_floats(world.ranks, COUNT),
                               sizeof *shards, "a test", NULL);
    for (size_t round = 0; rank->good && shards && round < ROUNDS; round++)
        rank->good = sum_round(cluster, rank, shards, round) && is_right(rank, world.ranks, round);
    rank->good = rank->good &&
                 cluster_sums_measure(cluster, rank->kind, &world.subtrees, COUNT, &rank->cost);
    cluster_close(cluster, 0);
    free(shards);
    return NULL;
}

/* Makes the ranks of the next test, and divides `blocks` among them. */
static void make_ranks(size_t blocks, size_t ranks, bool hosts)
{
    memset(world.posted, 0, sizeof world.posted);
    memset(world.sent, 0, sizeof world.sent);
    memset(world.received, 0, sizeof world.received);
    world.joined = 0;
    world.bytes_moved = 0;
    for (size_t w = 0; w < CLUSTER_WINDOWS; w++)
        free(world.windows[w].memory);
    memset(world.windows, 0, sizeof world.windows);
    world.refuses = false;
    world.ranks = ranks;
    world.hosts = hosts;
    world.subtrees = batch_subtrees_divide(blocks, ranks);
}

/* Divides `blocks` among the ranks. Returns the bytes that the sums have moved between them. */
static uint64_t test_blocks(size_t blocks, size_t ranks, enum cluster_sum_kind kind, size_t buckets,
                            const char *name)
{
    static struct rank all[MOST_RANKS];
    bool good = true, gathers = true, measured = true;
    memset(all, 0, sizeof all);
    make_ranks(blocks, ranks, true);
    for (size_t r = 0; r < ranks; r++) {
        all[r].kind = kind;
        all[r].buckets = buckets;
        good &= thread_start(&all[r].thread, run_rank, &all[r]) == 0;
    }
    for (size_t r = 0; r < ranks; r++) {
        pthread_join(all[r].thread, NULL);
        good &= all[r].good;
        gathers &= all[r].gathers;
        measured &= all[r].cost.latency > 0 && all[r].cost.latency == all[0].cost.latency &&
                    all[r].cost.seconds_per_byte == all[0].cost.seconds_per_byte;
    }
    tap_ok(good, "%zu blocks, %zu ranks, %zu buckets: %s", blocks, ranks, buckets, name);
    tap_ok(gathers, "  what is gathered meanwhile");
    tap_ok(measured, "  all ranks have the same measured cost");
    return world.bytes_moved;
}

/* Each rank has one block. */
static uint64_t test_ranks(size_t ranks, enum cluster_sum_kind kind, size_t buckets,
                           const char *name)
{
    return test_blocks(ranks, ranks, kind, buckets, name);
}

/* --- windows --- */

/* Gathers different numbers of bytes, and broadcasts several times in a row. */
static bool exchange(struct cluster *cluster, size_t round)
{
    static const size_t sizes[] = {1, 24, 65536, 65537};
    const size_t ranks = cluster_ranks(cluster), own = cluster_rank(cluster);
    const size_t bytes = sizes[round % 4];
    char *mine = memory_new(1 + ranks, bytes, "a test", NULL);
    if (!mine)
        return false;
    char *all = mine + bytes;
    memset(mine, (int)(own * 16 + round), bytes);
    bool right = cluster_gather(cluster, mine, bytes, all);
    for (size_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < bytes; i++)
            right &= all[r * bytes + i] == (char)(r * 16 + round);
    free(mine);
    for (size_t i = 0; i < 5; i++) {
        size_t sent = own == 0 ? 10 * round + i : 0;
        right &= cluster_broadcast(cluster, &sent, sizeof sent) && sent == 10 * round + i;
    }
    return right;
}

static bool add_in_window(struct cluster *cluster, const struct cluster_window *window,
                          struct pool *pool, struct rank *rank, size_t round)
{
    float *values = cluster_window_segment(window, cluster_rank(cluster));
    set_values(rank, cluster_rank(cluster), round);
    memcpy(values, rank->sums, world.subtrees.most * COUNT * sizeof *values);
    if (!cluster_window_sum(window, &world.subtrees, COUNT, COUNT, pool))
        return false;
    memcpy(rank->sums, values, COUNT * sizeof *values);
    return is_right(rank, world.ranks, round);
}

/* Returns whether a window that is closed gives its memory to the next one that fits, and another
 * one does not. */
static bool reuses(struct cluster *cluster, struct cluster_window *window, size_t bytes)
{
    void *before = cluster_window_segment(window, 0);
    struct cluster_window *other = cluster_window_open(cluster, bytes);
    bool good = other && cluster_window_segment(other, 0) != before;
    cluster_window_close(window);
    window = cluster_window_open(cluster, bytes / 2);
    good &= window && cluster_window_segment(window, 0) == before;
    cluster_window_close(window);
    cluster_window_close(other);
    return good;
}

static void *run_in_window(void *context)
{
    struct rank *rank = context;
    struct cluster *cluster;
    struct error error;
    const size_t bytes = world.subtrees.most * COUNT * sizeof(float);
    rank->gathers = true;
    rank->good = cluster_join_module(
        &module, &(struct launch){.launcher = "test", .ranks = world.ranks}, &cluster, &error);
    if (!rank->good)
        return NULL;
    struct pool *pool = pool_create(1 + cluster_rank(cluster) % 2, &error);
    rank->good = pool && cluster_shares_memory(cluster);
    struct cluster_window *window = cluster_window_open(cluster, bytes);
    rank->good &= window && !cluster_sharing_failure(cluster)[0];
    /* a rank that left after a wrong sum would let the others wait */
    for (size_t round = 0; pool && window && round < ROUNDS; round++) {
        rank->good &= add_in_window(cluster, window, round % 2 ? pool : NULL, rank, round);
        rank->gathers &= exchange(cluster, round);
    }
    rank->good &=
        cluster_window_measure(cluster, COUNT, &rank->cost) && reuses(cluster, window, bytes);
    pool_free(pool);
    cluster_close(cluster, 0);
    return NULL;
}

static void test_window(size_t blocks, size_t ranks)
{
    static struct rank all[MOST_RANKS];
    bool good = true, gathers = true;
    memset(all, 0, sizeof all);
    make_ranks(blocks, ranks, false);
    for (size_t r = 0; r < ranks; r++)
        good &= thread_start(&all[r].thread, run_in_window, &all[r]) == 0;
    for (size_t r = 0; r < ranks; r++) {
        pthread_join(all[r].thread, NULL);
        good &=
            all[r].good && all[r].cost.latency > 0 && all[r].cost.latency == all[0].cost.latency;
        gathers &= all[r].gathers;
    }
    tap_ok(good, "%zu ranks add %zu blocks in a window: the bits of the tree", ranks, blocks);
    tap_ok(gathers, "  what is gathered and broadcast meanwhile");
    tap_ok(world.bytes_moved == 0, "  no message has gradients");
}

/* Opens a window that rank 1 cannot have. */
static void *run_without_room(void *context)
{
    struct rank *rank = context;
    struct cluster *cluster;
    struct error error;
    rank->good = cluster_join_module(
        &module, &(struct launch){.launcher = "test", .ranks = world.ranks}, &cluster, &error);
    if (!rank->good)
        return NULL;
    rank->good = cluster_shares_memory(cluster) && !cluster_window_open(cluster, 1000) &&
                 !cluster_shares_memory(cluster) && !cluster_window_open(cluster, 1000) &&
                 strstr(cluster_sharing_failure(cluster), "(no room for it)");
    rank->gathers = exchange(cluster, 0);
    cluster_close(cluster, 0);
    return NULL;
}

static void test_without_room(void)
{
    static struct rank all[3];
    make_ranks(3, 3, false);
    world.refuses = true;
    bool good = true, gathers = true;
    for (size_t r = 0; r < 3; r++)
        good &= thread_start(&all[r].thread, run_without_room, &all[r]) == 0;
    for (size_t r = 0; r < 3; r++) {
        pthread_join(all[r].thread, NULL);
        good &= all[r].good;
        gathers &= all[r].gathers;
    }
    tap_ok(good, "no rank has a window that one of them cannot have, and all know why");
    tap_ok(gathers, "  and they go on");
    tap_ok(!world.windows[0].memory, "  and the others forget it");
}

/* Clusters that have failed: cluster_close would end the process. */
static struct cluster *failed[2];

/* A rank that fails while the others wait for it ends their wait. */
static void *run_failing(void *context)
{
    struct rank *rank = context;
    struct cluster *cluster;
    struct error error;
    if (!cluster_join_module(&module, &(struct launch){.launcher = "test", .ranks = world.ranks},
                             &cluster, &error))
        return NULL;
    double mine = 1, all[MOST_RANKS];
    failed[cluster_rank(cluster)] = cluster;
    /* The first sum keeps the failure from coming while the other rank still joins. It may come as
     * soon as the failing rank has its own result of that sum. */
    bool received = cluster_gather(cluster, &mine, sizeof mine, all);
    if (cluster_rank(cluster) == 1) {
        error_set(&error, ERROR_SYSTEM, "a test", NULL, "it fails");
        cluster_fail(cluster, &error);
        rank->good = received;
    } else {
        received = received && cluster_gather(cluster, &mine, sizeof mine, all);
        rank->good = !received && !cluster_check(cluster, &error) && strstr(error.why, "it fails");
    }
    cluster_leave(cluster, NULL);
    return NULL;
}

static void test_failure(void)
{
    static struct rank all[2];
    make_ranks(2, 2, false);
    bool good = true;
    for (size_t r = 0; r < 2; r++)
        good &= thread_start(&all[r].thread, run_failing, &all[r]) == 0;
    for (size_t r = 0; r < 2; r++) {
        pthread_join(all[r].thread, NULL);
        good &= all[r].good;
    }
    tap_ok(good, "a rank that fails ends the wait of another");
}

/* --- several blocks for each rank --- */

static void test_subtrees(void)
{
    static const size_t divisions[][2] = {{6, 2}, {9, 3}, {12, 4}, {14, 2}, {15, 5}, {21, 3}};
    for (size_t d = 0; d < sizeof divisions / sizeof *divisions; d++) {
        const size_t blocks = divisions[d][0], ranks = divisions[d][1];
        test_blocks(blocks, ranks, CLUSTER_SUM_EXACT, 1, "the bits of the tree");
        test_blocks(blocks, ranks, CLUSTER_SUM_EXACT, 7, "the bits of the tree");
        test_blocks(blocks, ranks, CLUSTER_SUM_BF16, 7, "the bits of bf16");
        test_blocks(blocks, ranks, CLUSTER_SUM_FAST, 7, "about the same in MPI's order");
        test_window(blocks, ranks);
    }
    const uint64_t four = test_blocks(8, 2, CLUSTER_SUM_EXACT, 7, "the bits of the tree");
    const uint64_t one = test_ranks(2, CLUSTER_SUM_EXACT, 7, "the bits of the tree");
    tap_ok(four == one, "  a rank with 2^n blocks sends no more than one with a single block");
}

/* --- rounding --- */

static void test_rounding(void)
{
    const float from[] = {1,     1.00390625f, 1.01171875f, 1.004f, -1.00390625f,
                          3e38f, INFINITY,    -0.0f,       1e-40f};
    const uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xbf80,
                                 0x7f62, 0x7f80, 0x8000, 0x0001};
    enum { VALUES = sizeof from / sizeof *from };
    uint16_t to[VALUES];
    const float nan = NAN;
    cluster_bf16_round(from, to, VALUES);
    tap_ok(memcmp(to, expected, sizeof to) == 0, "bf16 is the nearest value, and ties go to even");
    cluster_bf16_round(&nan, to, 1);
    tap_ok(isnan(bf16_to_float(to[0])), "NaN stays NaN");
    /* 1 + 2^-8 + 2^-8 in float32, from three ranks: bf16 would lose both */
    const uint16_t shards[] = {0x3f80, 0x3b80, 0x3b80};
    float sum;
    cluster_bf16_add(shards, 1, 3, &sum);
    tap_ok(sum == 1.0078125f, "the sum of bf16 values is float32");
}

TEST_CASE(cluster_sums_test)
{
    test_rounding();
    for (size_t ranks = 2; ranks <= MOST_RANKS; ranks++) {
        test_ranks(ranks, CLUSTER_SUM_EXACT, 1, "the bits of the tree");
        const uint64_t exact = test_ranks(ranks, CLUSTER_SUM_EXACT, 7, "the bits of the tree");
        const uint64_t bf16 = test_ranks(ranks, CLUSTER_SUM_BF16, 7, "the bits of bf16");
        tap_ok(bf16 * 2 == exact, "  with half the bytes");
        test_ranks(ranks, CLUSTER_SUM_FAST, 7, "about the same in MPI's order");
        test_window(ranks, ranks);
    }
    test_subtrees();
    test_without_room();
    test_failure();
    return tap_done();
}
