/* batch_subtrees.h: the sums over images that each rank takes, and how those of all ranks are
 * joined.
 *
 * Each of several ranks has the same number of neighbouring blocks of images (image_blocks.h). The
 * subtrees are those of the batch's tree of blocks that one rank has as a whole and that are no
 * part of larger such subtrees. A rank takes the sum of each of its subtrees. All sums, joined in
 * the order of the tree, have the bits of one process that has all blocks. A rank with 2^n blocks
 * has one subtree; with six blocks, two ranks have two each: ((0 1) 2 | 3 (4 5)) is part of the
 * tree
 * (((0 1) (2 3)) (4 5)).
 */
#ifndef TINCA_ENGINE_GRAPH_BATCH_SUBTREES_H
#define TINCA_ENGINE_GRAPH_BATCH_SUBTREES_H

#include <stddef.h>

/* The division of the blocks of a batch among ranks. */
struct batch_subtrees {
    size_t blocks, ranks; /* of the whole batch; ranks divides blocks */
    size_t most;          /* subtrees that a rank has, at most */
};

struct batch_subtree {
    size_t rank, number; /* its number among those of the rank, which are in the order of blocks */
    size_t begin, count; /* blocks, counted from the rank's first one */
};

/* Bounds the subtrees of a rank: on each side of its range, it has at most one for each level of
 * the tree. */
enum { BATCH_SUBTREES_LIMIT = 2 * 8 * sizeof(size_t) };

/* Returns the division of blocks among ranks, of which each has blocks / ranks. */
struct batch_subtrees batch_subtrees_divide(size_t blocks, size_t ranks);

/* Writes the subtrees of a rank to list[0..BATCH_SUBTREES_LIMIT), unless it is NULL. Returns their
 * number. */
size_t batch_subtrees_list(const struct batch_subtrees *subtrees, size_t rank,
                           struct batch_subtree *list);

/* Calls join() for each sum of two halves in the tree above the subtrees, smaller trees first. A
 * half is named by its first subtree: join() adds the sum at `from` to that at `to`. In the end,
 * the sum of the whole batch is at the first subtree of rank 0. */
void batch_subtrees_join(const struct batch_subtrees *subtrees,
                         void (*join)(void *context, const struct batch_subtree *to,
                                      const struct batch_subtree *from),
                         void *context);

#endif
