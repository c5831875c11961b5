/* batch_share.h: the part of a batch that one of several processes computes (cluster.h).
 *
 * Each process has the same number of whole blocks of images (image_blocks.h). It computes the sums
 * of each of its pieces, and those of all ranks are joined in the tree of blocks (image_pieces.h).
 * So the bits do not depend on the number of processes. Every rank joins all sums itself and has
 * the result.
 */
#ifndef TINCA_ENGINE_GRAPH_BATCH_SHARE_H
#define TINCA_ENGINE_GRAPH_BATCH_SHARE_H

#include "engine/graph/image_blocks.h"
#include "engine/graph/image_pieces.h"

struct batch_share {
    struct image_pieces pieces; /* of all ranks */
    const struct image_piece *own;
    size_t own_count;
    size_t first_image;  /* of the whole batch: the first image of this process */
    size_t whole_images; /* images of the whole batch */
    /* Arrays for sums: a process writes `count` sums of its piece p to mine[p * count] and what
     * follows, then calls one of the functions below, which joins those of all pieces in all[]. */
    double *mine, *all;
    /* Fills all[] with the mine[] of each rank in turn, pieces.most * count values each. After a
     * failure, which the cluster reports, all[] has the process's own sums in every rank's place.
     */
    void (*gather)(const struct batch_share *share, size_t count);
    void *context; /* of gather */
};

/* Gather the sums of all pieces. all[0..count) becomes their sums over the whole batch, added in
 * double precision or rounded to float32 after each addition. */
void batch_share_add(const struct batch_share *share, size_t count);
void batch_share_add_float(const struct batch_share *share, size_t count);

/* Gathers moments of all pieces: a number of values, their mean and squares (struct moments) for
 * each of `channels`. all[0..3 * channels) becomes the moments of the whole batch. */
void batch_share_join_moments(const struct batch_share *share, size_t channels);

/* Returns what a process gives as the gradient of a parameter, if `whole` is already that of the
 * whole batch: the gradients of all pieces are added afterwards. The first process gives it for its
 * first piece, and the others -0, to which any value can be added without a change, as do all
 * further pieces. `share` NULL: `whole`. */
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
