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

#endif
