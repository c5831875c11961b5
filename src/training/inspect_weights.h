/* inspect_weights.h: statistics of one array of weights. */
#ifndef TINCA_TRAINING_INSPECT_WEIGHTS_H
#define TINCA_TRAINING_INSPECT_WEIGHTS_H

#include "runs/folder/inspection.h"

#include <stddef.h>

/* Sets mean, standard deviation, extremes, histogram and norm of `count` values. Values that are
 * NaN or infinite are left out. */
void inspect_values(struct inspection_tensor *tensor, const float *values, size_t count);

/* Return the L2 norm of an array, and of the difference of two; NaN if an array is NULL. */
double inspect_norm(const float *values, size_t count);
double inspect_distance(const float *values, const float *others, size_t count);

#endif
