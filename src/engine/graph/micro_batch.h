/* micro_batch.h: the micro-batch of a process, its part of a batch that several share (cluster.h).
 *
 * Each process has the same number of whole blocks of images (image_blocks.h). It computes the sums
 * of each of its subtrees, and those of all ranks are joined in the tree of blocks
 * (batch_subtrees.h). So the bits do not depend on the number of processes. Every rank joins all
 * sums itself and has the result.
 */
#ifndef TINCA_ENGINE_GRAPH_MICRO_BATCH_H
#define TINCA_ENGINE_GRAPH_MICRO_BATCH_H

#include "engine/graph/batch_subtrees.h"
#include "engine/graph/image_blocks.h"

struct micro_batch {
    struct batch_subtrees subtrees; /* of all ranks */
    const struct batch_subtree *own;
    size_t own_count;
    size_t first_image;  /* of the whole batch: the first image of this process */
    size_t whole_images; /* images of the whole batch */
    /* Arrays for sums: a process writes `count` sums of its subtree p to mine[p * count] and what
     * follows, then calls one of the functions below, which joins those of all subtrees in all[].
     */
    double *mine, *all;
    /* Fills all[] with the mine[] of each rank in turn, subtrees.most * count values each. After a
     * failure, which the cluster reports, all[] has the process's own sums in every rank's place.
     */
    void (*gather)(const struct micro_batch *micro_batch, size_t count);
    void *context; /* of gather */
};

/* Gather the sums of all subtrees. all[0..count) becomes their sums over the whole batch, added in
 * double precision or rounded to float32 after each addition. */
void micro_batch_add(const struct micro_batch *micro_batch, size_t count);
void micro_batch_add_float(const struct micro_batch *micro_batch, size_t count);

/* Gathers moments of all subtrees: a number of values, their mean and squares (struct moments) for
 * each of `channels`. all[0..3 * channels) becomes the moments of the whole batch. */
void micro_batch_join_moments(const struct micro_batch *micro_batch, size_t channels);

/* Returns a process's share of the gradient of a parameter if `whole` is already that of the whole
 * batch, because the gradients of all subtrees are added afterwards. The first process returns it
 * for its first subtree; the others, and all further subtrees, return -0, which changes no sum. If
 * `micro_batch` is NULL, returns `whole`. */
static inline float micro_batch_gradient(const struct micro_batch *micro_batch, double whole)
{
    return micro_batch && micro_batch->first_image > 0 ? -0.0f : (float)whole;
}

/* Returns the number of the first image in the whole batch; `micro_batch` NULL: 0. */
static inline size_t micro_batch_first(const struct micro_batch *micro_batch)
{
    return micro_batch ? micro_batch->first_image : 0;
}

#endif
