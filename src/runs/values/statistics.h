/* statistics.h: mean, standard deviation and confidence interval of a list of times. */
#ifndef TINCA_RUNS_VALUES_STATISTICS_H
#define TINCA_RUNS_VALUES_STATISTICS_H

#include "base/error.h"

#include <stddef.h>

struct statistics {
    double median, min, mean, sd;
    double ci95; /* half the width of the 95 % confidence interval of the mean (Student's t) */
};

/* Computes the statistics of `count` values: all NaN for none, sd and ci95 NaN for one. Returns
 * false with an error if out of memory. */
bool statistics_compute(const double *values, size_t count, struct statistics *statistics,
                        struct error *error);

/* Computes the 95 % confidence interval of a share, `part` of `whole` trials (Wilson 1927), in
 * percent: NaN for no trials. */
void statistics_wilson(size_t part, size_t whole, double *low, double *high);

/* Writes what follows a mean in a sentence, translated: ", sd 0.1, 95 % +- 0.04" or, of one value,
 * " (one value has no spread)". Returns `text`. */
char *statistics_spread(double sd, double ci95, char *text, size_t size);
/* Writes a mean and its interval, "2.31 +- 0.04", or the mean alone if no interval is known, as of
 * times that were taken in turns. Returns `text`. */
char *statistics_mean(double mean, double ci95, char *text, size_t size);
/* These call them with a buffer that lives to the end of the enclosing block. */
#define STATISTICS_SPREAD(sd, ci95) statistics_spread(sd, ci95, (char[80]){0}, 80)
#define STATISTICS_MEAN(mean, ci95) statistics_mean(mean, ci95, (char[40]){0}, 40)

#endif
