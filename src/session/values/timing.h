/* timing.h: statistics of the times of a run's iterations. */
#ifndef TINCA_SESSION_VALUES_TIMING_H
#define TINCA_SESSION_VALUES_TIMING_H

#include "session/values/series.h"
#include "session/values/statistics.h"

/* Returns statistics of ms/image over the stored points; all zero if there are none. */
bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error);

#endif
