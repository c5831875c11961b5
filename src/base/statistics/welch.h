/* welch.h: Welch's t-test (1947): do two groups of runs differ in their means? The groups may have
 * different sizes and variances. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_WELCH_H
#define TINCA_BASE_STATISTICS_WELCH_H

#include <stddef.h>

/* A group: the number of its values, their mean and their standard deviation (n - 1). */
struct welch_sample {
    size_t count;
    double mean, sd;
};

struct welch {
    double t;       /* of the first mean minus the second */
    double freedom; /* Welch and Satterthwaite's degrees of freedom */
    double p;       /* two-sided */
};

/* Returns the result; all NaN if a group has fewer than two values. Without any variance p is 1 for
 * equal means and 0 for different ones. */
struct welch welch_test(const struct welch_sample *a, const struct welch_sample *b);

#endif
