/* image_pieces.h: which sums over images a rank takes, and how those of all ranks are joined.
 *
 * Each of several ranks has the same number of neighbouring blocks of images (image_blocks.h). A
 * piece is a subtree of the batch's tree of blocks that one rank has as a whole and that is no part
 * of a larger such subtree. A rank takes the sum of each of its pieces. All sums, joined in the
 * order of the tree, have the bits of one process that has all blocks. A rank with 2^n blocks has
 * one piece; with six blocks, two ranks have two each: ((0 1) 2 | 3 (4 5)) is part of the tree
 * (((0 1) (2 3)) (4 5)).
 */
#ifndef TINCA_ENGINE_GRAPH_IMAGE_PIECES_H
#define TINCA_ENGINE_GRAPH_IMAGE_PIECES_H

#include <stddef.h>

/* How the blocks of a batch are divided among ranks. */
struct image_pieces {
    size_t blocks, ranks; /* of the whole batch; ranks divides blocks */
    size_t most;          /* pieces that a rank has, at most */
};

struct image_piece {
    size_t rank, number; /* its number among those of the rank, which are in the order of blocks */
    size_t begin, count; /* blocks, counted from the rank's first one */
};

/* A rank has fewer pieces: on each side of its range, at most one for each level of the tree. */
enum { IMAGE_PIECES_LIMIT = 2 * 8 * sizeof(size_t) };

/* Returns the division of blocks among ranks, of which each has blocks / ranks. */
struct image_pieces image_pieces_divide(size_t blocks, size_t ranks);

/* Writes the pieces of a rank to list[0..IMAGE_PIECES_LIMIT), unless it is NULL. Returns their
 * number. */
size_t image_pieces_list(const struct image_pieces *pieces, size_t rank, struct image_piece *list);

/* Calls join() for each sum of two halves in the tree above the pieces, smaller trees first. A half
 * is named by its first piece: join() adds the sum at `from` to that at `to`. In the end, the sum
 * of the whole batch is at the first piece of rank 0. */
void image_pieces_join(const struct image_pieces *pieces,
                       void (*join)(void *context, const struct image_piece *to,
                                    const struct image_piece *from),
                       void *context);

#endif
