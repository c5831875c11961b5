/* Each rank has a line on the board with the number of times that it has come, and two slots for
 * what it gives to a gather. The slots take turns: when a rank writes to one again, all ranks have
 * come for the other since, and have thus read this one. */
#include "engine/cluster/shared_board.h"

#include "base/memory.h"
#include "base/threads/futex.h"
#include "base/threads/spin.h"
#include "engine/cluster/shared_memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* How long a rank sleeps before it looks whether the cluster has failed. */
enum { LOOK_MILLISECONDS = 20 };

/* A rank's part of the board. */
struct line {
    atomic_uint times;    /* that it has come; wraps around */
    atomic_uint sleepers; /* who may be asleep until it comes again */
    _Alignas(MEMORY_ALIGNMENT) char slots[2][SHARED_BOARD_BYTES];
};

struct shared_board {
    struct cluster *cluster;
    struct shared_memory *memory;
    unsigned times; /* that this rank has come */
};

struct shared_board *shared_board_create(struct cluster *cluster)
{
    struct error error;
    struct shared_board *board = memory_new(1, sizeof *board, "shared memory", &error);
    if (cluster_agree(cluster, board, &error)) {
        board->cluster = cluster;
        board->memory = shared_memory_create(cluster, sizeof(struct line));
        if (board->memory)
            return board;
    }
    free(board);
    return NULL;
}

void shared_board_free(struct shared_board *board)
{
    if (board)
        shared_memory_free(board->memory);
    free(board);
}

static struct line *line_of(const struct shared_board *board, size_t rank)
{
    return shared_memory_of(board->memory, rank);
}

/* Says that this rank has come. Either it sees that somebody sleeps, or the sleeper sees the new
 * number. */
static void come(struct shared_board *board)
{
    struct line *line = line_of(board, cluster_rank(board->cluster));
    atomic_store(&line->times, ++board->times);
    if (atomic_load(&line->sleepers) > 0)
        futex_wake_shared(&line->times);
}

/* Returns whether a rank has come as often as this one. */
static bool is_here(const struct shared_board *board, unsigned times)
{
    return (int)(times - board->times) >= 0;
}

/* Waits until a rank has come as often as this one. Returns false after a failure. */
static bool await(const struct shared_board *board, size_t rank)
{
    struct line *line = line_of(board, rank);
    struct spin wait = {0};
    while (!is_here(board, atomic_load_explicit(&line->times, memory_order_acquire))) {
        if (spin_again(&wait))
            continue;
        if (!cluster_check(board->cluster, NULL))
            return false;
        atomic_fetch_add(&line->sleepers, 1);
        const unsigned times = atomic_load(&line->times);
        if (!is_here(board, times))
            futex_wait_shared(&line->times, times, LOOK_MILLISECONDS);
        atomic_fetch_sub(&line->sleepers, 1);
    }
    return true;
}

bool shared_board_meet(struct shared_board *board)
{
    come(board);
    for (size_t r = 0; r < cluster_ranks(board->cluster); r++)
        if (!await(board, r))
            return false;
    return true;
}

bool shared_board_gather(struct shared_board *board, const void *mine, size_t bytes, void *all)
{
    const size_t slot = (board->times + 1) % 2;
    memcpy(line_of(board, cluster_rank(board->cluster))->slots[slot], mine, bytes);
    if (!shared_board_meet(board))
        return false;
    for (size_t r = 0; r < cluster_ranks(board->cluster); r++)
        memcpy((char *)all + r * bytes, line_of(board, r)->slots[slot], bytes);
    return true;
}
