/* timing.h: statistics of the times of a run's iterations. */
#ifndef TINCA_SESSION_VALUES_TIMING_H
#define TINCA_SESSION_VALUES_TIMING_H

#include "session/values/series.h"
#include "session/values/statistics.h"

/* Computes statistics of ms/image over the stored points whose time is known; all NaN if there are
 * none. Returns false with an error if out of memory. */
bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error);

#endif
