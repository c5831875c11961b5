/* batch_share.h: the part of a batch that one of several processes computes (cluster.h).
 *
 * Each process has the same number of whole blocks of images (image_blocks.h), which are a subtree
 * of the batch's tree of blocks: it computes the sums of its subtree, and these are then joined in
 * the tree of the ranks, whose shape is that of the whole tree above the subtrees. So the bits do
 * not depend on the number of processes. Every rank joins all sums itself and has the result.
 */
#ifndef TINCA_ENGINE_GRAPH_BATCH_SHARE_H
#define TINCA_ENGINE_GRAPH_BATCH_SHARE_H

#include "engine/graph/image_blocks.h"

struct batch_share {
    size_t ranks;
    size_t first_image;  /* of the whole batch: the first image of this process */
    size_t whole_images; /* images of the whole batch */
    /* Arrays for sums: a process writes its own sums to mine[], then calls gather, which fills
     * all[] with those of each rank in turn, `count` values each. After a failure, which the
     * cluster reports, all[] has the process's own sums in every rank's place. */
    double *mine, *all;
    void (*gather)(const struct batch_share *share, size_t count);
    void *context; /* of gather */
};

/* Returns the moments that ranks [begin, begin + count) have gathered at `at`: three values each,
 * in arrays of `stride` values. */
static inline struct moments batch_share_moments(const struct batch_share *share, size_t stride,
                                                 size_t at, size_t begin, size_t count)
{
    if (count == 1) {
        const double *values = share->all + begin * stride + at;
        return (struct moments){values[0], values[1], values[2]};
    }
    const size_t left = image_blocks_left(count);
    return moments_join(batch_share_moments(share, stride, at, begin, left),
                        batch_share_moments(share, stride, at, begin + left, count - left));
}

/* Returns the sum of the values that ranks [begin, begin + count) have gathered at `at`. */
static inline double batch_share_sum(const struct batch_share *share, size_t stride, size_t at,
                                     size_t begin, size_t count)
{
    if (count == 1)
        return share->all[begin * stride + at];
    const size_t left = image_blocks_left(count);
    return batch_share_sum(share, stride, at, begin, left) +
           batch_share_sum(share, stride, at, begin + left, count - left);
}

/* The same, with the additions rounded to float32. */
static inline float batch_share_sum_float(const struct batch_share *share, size_t stride, size_t at,
                                          size_t begin, size_t count)
{
    if (count == 1)
        return (float)share->all[begin * stride + at];
    const size_t left = image_blocks_left(count);
    return batch_share_sum_float(share, stride, at, begin, left) +
           batch_share_sum_float(share, stride, at, begin + left, count - left);
}

/* Returns what a process gives as the gradient of a parameter, if `whole` is already that of the
 * whole batch: the gradients of all processes are added afterwards. The first one gives it, and the
 * others -0, to which any value can be added without a change. `share` NULL: `whole`. */
static inline float batch_share_gradient(const struct batch_share *share, double whole)
{
    return share && share->first_image > 0 ? -0.0f : (float)whole;
}

/* Returns the number of the first image in the whole batch; `share` NULL: 0. */
static inline size_t batch_share_first(const struct batch_share *share)
{
    return share ? share->first_image : 0;
}

#endif
