/* cluster_sums.h: sums over the ranks that proceed while the caller computes.
 *
 * A sum is started, goes on in the cluster's thread, and is awaited. Sums are computed one after
 * the other, in the order in which they were started, beside the other collectives: all ranks start
 * the same sums in the same order, but may gather and broadcast in between.
 *
 * A rank may have values of several subtrees of the batch (batch_subtrees.h). CLUSTER_SUM_EXACT
 * divides the values among the ranks: each gets its shard of the values of all subtrees of all
 * ranks, adds them in the order of the tree, and sends the result to all. The bits do not depend on
 * MPI, nor on how the values are divided into sums. CLUSTER_SUM_BF16 does the same with values that
 * are rounded to bf16, to nearest and ties to even, before each of both messages, which halves the
 * bytes; it adds in float32. What is rounded depends on the number of ranks, and so do the bits: a
 * rank adds the values of its own subtrees first. CLUSTER_SUM_FAST does that too, and lets MPI
 * choose the order of the ranks.
 *
 * One thread at a time starts and awaits sums. A struct cluster_sum and its arrays belong to the
 * cluster from the start until cluster_sums_wait returns; after a failure, until cluster_close.
 */
#ifndef TINCA_ENGINE_CLUSTER_CLUSTER_SUMS_H
#define TINCA_ENGINE_CLUSTER_CLUSTER_SUMS_H

#include "base/threads/pool.h"
#include "engine/cluster/cluster.h"
#include "engine/graph/batch_subtrees.h"

enum cluster_sum_kind { CLUSTER_SUM_EXACT, CLUSTER_SUM_BF16, CLUSTER_SUM_FAST };

struct cluster_sum {
    float *values; /* the values of the rank's first subtree, which become the sums */
    size_t count;
    float *shards; /* room for subtrees.most * cluster_sum_floats() values; sums may share it, since
                      one is computed at a time */
    enum cluster_sum_kind kind;
    struct batch_subtrees subtrees; /* subtrees of all ranks; {0}: one of each */
    /* The values of subtree p begin at values + p * stride. The values of all p < subtrees.most can
     * be read, but count only for the subtrees that the rank has. */
    size_t stride;
    struct cluster_sum *next; /* used by the cluster */
};

/* Starts a sum, whose members before `next` are set. Does nothing after a failure. */
void cluster_sums_start(struct cluster *cluster, struct cluster_sum *sum);

/* Waits until all sums that were started are complete. Returns false after a failure. */
bool cluster_sums_wait(struct cluster *cluster);

/* Returns the floats of `shards` for one subtree of each rank. */
size_t cluster_sum_floats(size_t ranks, size_t count);

/* --- sums in memory that the ranks share ---
 * Ranks of one host have their values in a window (MPI_Win_allocate_shared). When all have arrived,
 * each adds a shard of the values of all, in the tree of image_blocks.h, and writes the sums to
 * all. The bits are those of CLUSTER_SUM_EXACT. No value is copied, and none is sent. */

struct cluster_window;

/* Returns a window with `bytes` for each rank. All ranks call it with the same number. Returns NULL
 * on all of them if one cannot have it (cluster_sharing_failure says why), if the ranks are not to
 * share memory, or after a failure of the cluster. */
struct cluster_window *cluster_window_open(struct cluster *cluster, size_t bytes);

/* Lets a later cluster_window_open use the memory. All ranks close and open windows in the same
 * order. NULL is allowed. */
void cluster_window_close(struct cluster_window *window);

/* Returns a rank's segment of the window. */
void *cluster_window_segment(const struct cluster_window *window, size_t rank);

/* Adds the first `count` float32 values of each rank's segment over the subtrees of all ranks,
 * whose values are `stride` apart; the other subtrees of a rank are undefined then. All ranks call
 * it. It computes with `pool`; NULL: with this thread. Returns false after a failure. */
bool cluster_window_sum(const struct cluster_window *window, const struct batch_subtrees *subtrees,
                        size_t count, size_t stride, struct pool *pool);

/* --- the cost of a sum --- */

/* The cost of a sum: it takes latency + bytes * seconds_per_byte, for the float32 values of a rank.
 */
struct cluster_cost {
    double latency, seconds_per_byte;
};

/* Measures sums of few and of many values, up to `count`, of these subtrees (NULL: one of each
 * rank); all ranks call it at the same time and get the figures of rank 0. Returns false after a
 * failure.
 */
bool cluster_sums_measure(struct cluster *cluster, enum cluster_sum_kind kind,
                          const struct batch_subtrees *subtrees, size_t count,
                          struct cluster_cost *cost);

/* Measures sums in a window in the same way, with one thread of each rank. Returns false after a
 * failure, and if the ranks cannot share memory. */
bool cluster_window_measure(struct cluster *cluster, size_t count, struct cluster_cost *cost);

/* --- rounding to and adding bf16, as CLUSTER_SUM_BF16 does --- */

/* Sets to[i] = the nearest bf16 of from[i]. */
void cluster_bf16_round(const float *from, uint16_t *to, size_t count);

/* Sets to[i] = the sum of shards[r * count + i] over the ranks r, in the tree's order. */
void cluster_bf16_add(const uint16_t *shards, size_t count, size_t ranks, float *to);

#endif
