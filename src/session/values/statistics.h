/* statistics.h: what a list of times comes to. */
#ifndef TINCA_SESSION_VALUES_STATISTICS_H
#define TINCA_SESSION_VALUES_STATISTICS_H

#include "base/error.h"

#include <stddef.h>

struct statistics {
    double median, min, mean, sd;
    double ci95; /* half the width of the 95 % confidence interval of the mean (Student's t) */
};

/* All NaN for no values; sd and ci95 are NaN for one: a single value says nothing about them. */
bool statistics_compute(const double *values, size_t count, struct statistics *statistics,
                        struct error *error);

/* Writes sd or ci95, "-" where it is not known. Returns `text`. */
char *statistics_spread(double spread, char *text, size_t size);
/* The same as an expression, for an argument of printf. */
#define STATISTICS_SPREAD(spread) statistics_spread(spread, (char[16]){0}, 16)

#endif
