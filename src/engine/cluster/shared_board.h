/* shared_board.h: how the ranks of one host meet and gather in memory that they share, without
 * their threads for MPI. Internal to engine/cluster. */
#ifndef TINCA_ENGINE_CLUSTER_SHARED_BOARD_H
#define TINCA_ENGINE_CLUSTER_SHARED_BOARD_H

#include "engine/cluster/cluster.h"

struct shared_board;

enum { SHARED_BOARD_BYTES = 1 << 16 }; /* the most that a rank gives to a gather */

/* Returns a board of all ranks, which call it together, or NULL on all of them
 * (shared_memory_create). */
struct shared_board *shared_board_create(struct cluster *cluster);

/* Frees it. NULL is allowed. */
void shared_board_free(struct shared_board *board);

/* Waits until all ranks have called it as often as this one; what each has written before, the
 * others then see. Returns false after a failure of the cluster. */
bool shared_board_meet(struct shared_board *board);

/* Gathers as cluster_gather does, at most SHARED_BOARD_BYTES. */
bool shared_board_gather(struct shared_board *board, const void *mine, size_t bytes, void *all);

#endif
