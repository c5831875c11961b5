/* statistics.h: mean, standard deviation and confidence interval of a list of times. */
#ifndef TINCA_SESSION_VALUES_STATISTICS_H
#define TINCA_SESSION_VALUES_STATISTICS_H

#include "base/error.h"

#include <stddef.h>

struct statistics {
    double median, min, mean, sd;
    double ci95; /* half the width of the 95 % confidence interval of the mean (Student's t) */
};

/* Returns the statistics of `count` values: all NaN for none, sd and ci95 NaN for one. */
bool statistics_compute(const double *values, size_t count, struct statistics *statistics,
                        struct error *error);

/* Writes sd or ci95, or "-" for NaN. Returns `text`. */
char *statistics_spread(double spread, char *text, size_t size);
/* statistics_text with a buffer of its block, for an argument of printf. */
#define STATISTICS_SPREAD(spread) statistics_spread(spread, (char[16]){0}, 16)

#endif
