#include "session/values/timing.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error)
{
    size_t count = series_count(series);
    double *times = memory_new(count, sizeof *times, "the times of a run", error);
    if (!times)
        return false;
    size_t known = 0; /* imported runs have iterations without a time */
    for (size_t i = 0; i < count; i++)
        if (isfinite(series->points[i].ms_per_image))
            times[known++] = (double)series->points[i].ms_per_image;
    bool computed = statistics_compute(times, known, statistics, error);
    free(times);
    return computed;
}
