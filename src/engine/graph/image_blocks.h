/* image_blocks.h: the order in which sums over the images of a batch are taken (--blocks K).
 *
 * Training divides the batch into K blocks of neighbouring images. Every sum over images (gradients
 * of weights and biases, statistics of batch normalisation, losses) is taken within each block
 * first, as if the block were the whole batch, and then over the blocks in a binary tree. The left
 * half of a tree of n blocks has the largest power of two below n. The order thus depends on K
 * alone: processes that have whole blocks each can add their sums to the same bits as one process
 * that has all (batch_subtrees.h). With one block, the kernels' own order remains.
 */
#ifndef TINCA_ENGINE_GRAPH_IMAGE_BLOCKS_H
#define TINCA_ENGINE_GRAPH_IMAGE_BLOCKS_H

#include <stddef.h>

/* Neighbouring images of a batch. */
struct image_range {
    size_t first, count;
};

/* Returns the images of blocks[begin..begin + count) of a batch that is divided into `blocks`. A
 * batch with fewer images than blocks has blocks without images. */
static inline struct image_range image_blocks_range(size_t batch, size_t blocks, size_t begin,
                                                    size_t count)
{
    const size_t first = begin * batch / blocks;
    return (struct image_range){first, (begin + count) * batch / blocks - first};
}

/* Returns the number of blocks in the left half of a tree of `count`, at least two. */
static inline size_t image_blocks_left(size_t count)
{
    size_t left = 1;
    while (2 * left < count)
        left *= 2;
    return left;
}

/* Returns how many sums are in use at once, apart from the result, while a tree of `count` blocks
 * is added from left to right. */
static inline size_t image_blocks_depth(size_t count)
{
    if (count < 2)
        return 0;
    const size_t left = image_blocks_depth(image_blocks_left(count));
    const size_t right = 1 + image_blocks_depth(count - image_blocks_left(count));
    return left > right ? left : right;
}

/* The moments of a number of values. */
struct moments {
    double count, mean;
    double squares; /* the sum of (value - mean)^2 */
};

/* Returns the moments of the values of both (Chan, Golub and LeVeque 1979). */
static inline struct moments moments_join(struct moments a, struct moments b)
{
    const double count = a.count + b.count, distance = b.mean - a.mean;
    if (a.count == 0 || b.count == 0)
        return a.count == 0 ? b : a;
    return (struct moments){count, a.mean + distance * b.count / count,
                            a.squares + b.squares +
                                distance * distance * a.count * b.count / count};
}

#endif
