/* soft_targets.h: makes the soft targets of a batch from labels, shares and class weights. */
#ifndef TINCA_ENGINE_TRAINING_SOFT_TARGETS_H
#define TINCA_ENGINE_TRAINING_SOFT_TARGETS_H

#include "engine/graph/soft_target.h"

#include <stddef.h>

/* Fills targets[count] by the formulas of soft_target.h. `partners` [count], the other labels, and
 * `shares` [count] are NULL if images are not mixed; `class_weights` [classes] is NULL if all
 * are 1. If all weights of the batch are 0, so are its targets. */
void soft_targets_fill(struct soft_target *targets, const int32_t *labels, const int32_t *partners,
                       const float *shares, const float *class_weights, size_t count);

/* Do the two halves of soft_targets_fill for one of several parts of a batch, with class weights.
 * The first writes the weight of each image to weights[count]. Once the weights[images] of the
 * whole batch are known, the second makes the targets those that soft_targets_fill gives the whole
 * batch. */
void soft_targets_fill_part(struct soft_target *targets, const int32_t *labels,
                            const int32_t *partners, const float *shares,
                            const float *class_weights, size_t count, double *weights);
void soft_targets_scale(struct soft_target *targets, size_t count, const double *weights,
                        size_t images);

#endif
