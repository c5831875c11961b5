/* statistics.h: what a list of times comes to. */
#ifndef TINCA_SESSION_STATISTICS_H
#define TINCA_SESSION_STATISTICS_H

#include "base/error.h"

#include <stddef.h>

struct statistics {
    double median, min, mean, sd;
    double ci95; /* half the width of the 95 % confidence interval of the mean (Student's t) */
};

/* All zero for no values; sd and ci95 zero for one. */
bool statistics_compute(const double *values, size_t count, struct statistics *statistics,
                        struct error *error);

#endif
