/* channel_importance.h: how important each group of channels is, by one of three criteria.
 *
 *   l1      the sum of |w| over the weights that make a channel (Li et al. 2017)
 *   bn      |weight| of the batch norm after it (Liu et al. 2017)
 *   taylor  |sum of gradient * value| over the channel's parameters: to first order, how much the
 *           loss changes without it (Molchanov et al. 2019); summed over several batches
 *
 * The Taylor criterion counts weight and bias of a batch norm where there is one: a convolution
 * before it has no effect of its own, since the batch norm undoes every change of its scale, and
 * the sum over its weights is zero.
 *
 * Each layer's values are divided by their mean, so that layers compare. A group has the mean of
 * all of its channels that a layer makes.
 */
#ifndef TINCA_ENGINE_COMPRESS_CHANNEL_IMPORTANCE_H
#define TINCA_ENGINE_COMPRESS_CHANNEL_IMPORTANCE_H

#include "engine/compress/channel_groups.h"
#include "engine/weights/weights.h"

enum channel_criterion { CRITERION_L1, CRITERION_BN, CRITERION_TAYLOR };

/* The names of the criteria by value, then NULL. */
extern const char *const channel_criterion_names[];

/* Adds the Taylor values of one batch to sums[groups->channel_count], for each channel that a layer
 * makes. `gradients` have the layout of the weights, in host memory. Returns false with an error if
 * out of memory. */
bool channel_importance_add_taylor(const struct channel_groups *groups, const float *values,
                                   const float *gradients, double *sums, struct error *error);

/* Writes the importance of each group [groups->count]. `sums` are those of the Taylor criterion,
 * NULL for others. A free group without a value (no batch norm, by that criterion) gets NaN.
 * Returns false with an error if out of memory. */
bool channel_importance(const struct channel_groups *groups, const struct weights *weights,
                        enum channel_criterion criterion, const double *sums, double *importance,
                        struct error *error);

#endif
