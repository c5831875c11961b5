/* inspect_weights.h: the figures of one array of weights. Internal to session/. */
#ifndef TINCA_SESSION_RUN_INSPECT_WEIGHTS_H
#define TINCA_SESSION_RUN_INSPECT_WEIGHTS_H

#include "session/values/inspection.h"

#include <stddef.h>

/* Mean, deviation, extremes, histogram and norm of count finite values; those that are not finite
 * count for nothing. */
void inspect_values(struct inspection_tensor *tensor, const float *values, size_t count);

/* L2 norms of an array, and of a difference; NaN when `values` (or `others`) is NULL. */
double inspect_norm(const float *values, size_t count);
double inspect_distance(const float *values, const float *others, size_t count);

#endif
