#include "session/timing.h"

#include "base/memory.h"

#include <stdlib.h>

bool timing_of_series(const struct series *series, struct statistics *statistics,
                      struct error *error)
{
    size_t count = series_count(series);
    double *times = memory_new(count, sizeof *times, "the times of a run", error);
    if (!times)
        return false;
    for (size_t i = 0; i < count; i++)
        times[i] = (double)series->points[i].ms_per_image;
    bool computed = statistics_compute(times, count, statistics, error);
    free(times);
    return computed;
}
