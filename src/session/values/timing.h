/* timing.h: what the iterations of a run took. */
#ifndef TINCA_SESSION_VALUES_TIMING_H
#define TINCA_SESSION_VALUES_TIMING_H

#include "session/values/series.h"
#include "session/values/statistics.h"

/* Statistics of the milliseconds an image over the points that are there; all zero without any. */
bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error);

#endif
