/* gradient_buckets.h: which gradients several processes add together, and when they may begin.
 *
 * The backward pass completes gradients from the last layers to the first. A bucket is a range of
 * neighbouring gradients, whose sum over the ranks can start once the pass has completed all of
 * them. Buckets are ordered as they are sent: from the end of the gradients to their beginning; a
 * bucket that is complete before the one in front of it waits for that one. Internal to
 * engine/execution.
 */
#ifndef TINCA_ENGINE_EXECUTION_GRADIENT_BUCKETS_H
#define TINCA_ENGINE_EXECUTION_GRADIENT_BUCKETS_H

#include "engine/cluster/cluster_sums.h"
#include "engine/plan/plan.h"

struct gradient_bucket {
    size_t first, count; /* values of the gradients */
    size_t entry;        /* of the plan's order: after it, the sum may start */
};

/* Fills buckets[] with the smallest possible ones: one for each learnable parameter of the graph.
 * Returns their number, which is at most graph->parameter_count. */
size_t gradient_buckets_divide(const struct plan *plan, struct gradient_bucket *buckets);

/* Joins neighbours until each bucket has `bytes` at least, except the last, and those that may
 * start after the same entry. Returns the new number. */
size_t gradient_buckets_join(struct gradient_bucket *buckets, size_t count, size_t bytes);

/* Returns the time at which all sums are complete, if a bucket may start at done[entry] seconds. */
double gradient_buckets_end(const struct gradient_bucket *buckets, size_t count, const double *done,
                            const struct cluster_cost *cost);

/* Returns the bytes for gradient_buckets_join with which the sums are complete first: a power of
 * two from 4 KiB, or SIZE_MAX for a single bucket, which wins unless another saves 5 % of its time.
 * `scratch` has `count` buckets. */
size_t gradient_buckets_choose(const struct gradient_bucket *buckets, size_t count,
                               const double *done, const struct cluster_cost *cost,
                               struct gradient_bucket *scratch);

#endif
