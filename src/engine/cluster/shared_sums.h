/* shared_sums.h: sums of values that ranks have in memory that they share (cluster_shares_memory).
 *
 * When all ranks have come, each adds a part of the values of all, in the tree of image_blocks.h,
 * and writes the sums to all. The bits are those of CLUSTER_SUM_EXACT (cluster_sums.h). No value is
 * copied, and no message is sent.
 */
#ifndef TINCA_ENGINE_CLUSTER_SHARED_SUMS_H
#define TINCA_ENGINE_CLUSTER_SHARED_SUMS_H

#include "base/threads/pool.h"
#include "engine/cluster/cluster_sums.h"
#include "engine/cluster/shared_memory.h"
#include "engine/graph/image_pieces.h"

struct shared_sum {
    size_t count;
    struct image_pieces pieces; /* their sums are added (image_pieces.h) */
    size_t stride;              /* values between the pieces of a rank */
};

/* The first `count` float32 values of each rank's part of the memory become the sums over the
 * pieces of all ranks; the other pieces of a rank are undefined then. All ranks call it. It
 * computes with `pool`; NULL: with this thread. Returns false after a failure. */
bool shared_sums_add(struct cluster *cluster, const struct shared_memory *memory,
                     const struct shared_sum *sum, struct pool *pool);

/* Measures as cluster_sums_measure does, with one thread of each rank. Returns false after a
 * failure, and if the ranks cannot share memory. */
bool shared_sums_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost);

#endif
