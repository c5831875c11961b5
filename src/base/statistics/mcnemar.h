/* mcnemar.h: McNemar's test (1947): do two classifiers that saw the same images differ in accuracy?
 *
 * Only the images count that exactly one of the two classified correctly. If the models are equally
 * good, each of the two is the correct one with probability 1/2. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_MCNEMAR_H
#define TINCA_BASE_STATISTICS_MCNEMAR_H

#include <stdbool.h>
#include <stddef.h>

/* Below so many discordant images the binomial probability is computed exactly; from there on the
 * chi-square distribution with Edwards's continuity correction serves. */
enum { MCNEMAR_EXACT_BELOW = 25 };

struct mcnemar {
    size_t first_only, second_only; /* images that only one of the two classified correctly */
    bool exact;
    double
        statistic; /* exact: the smaller of both counts; else chi-square of 1 degree of freedom */
    double p;      /* two-sided */
};

/* Returns the result for the two counts. */
struct mcnemar mcnemar_test(size_t first_only, size_t second_only);

#endif
