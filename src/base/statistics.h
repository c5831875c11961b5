/* statistics.h: distributions, two tests of significance that rest on them, and the sorting of many
 * numbers. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_H
#define TINCA_BASE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* --- the regularised incomplete beta function, from which Student's t and the binomial follow ---
 */

/* Returns I_x(a, b) for a, b > 0: 0 for x <= 0, 1 for x >= 1, and NaN if an argument is NaN or a or
 * b is not positive. */
double incomplete_beta(double a, double b, double x);

/* --- Student's t distribution, whose degrees of freedom need not be whole --- */

/* Returns the probability of a value whose absolute value is at least |t|. */
double student_t_two_sided(double t, double freedom);

/* Returns the value that is exceeded with probability 1 - `probability`; infinite at 0 and 1, NaN
 * outside and unless `freedom` > 0. */
double student_t_quantile(double probability, double freedom);

/* --- the standard normal distribution --- */

/* Returns the probability of a value up to `z`. */
double normal_probability(double z);

/* Returns the value that is exceeded with probability 1 - `probability`; infinite at 0 and 1, NaN
 * outside. */
double normal_quantile(double probability);

/* --- the chi-square distribution --- */

/* Returns the probability of a value of at least `x`; NaN unless `freedom` > 0. */
double chi_square_exceeds(double x, double freedom);

/* --- Welch's t-test (1947): do two groups of runs differ in their means? ---
 *
 * The groups may have different sizes and variances. */

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

/* --- McNemar's test (1947): do two classifiers that saw the same images differ in accuracy? ---
 *
 * Only the images count that exactly one of the two classified correctly. If the models are equally
 * good, each of the two is the correct one with probability 1/2. */

/* With fewer discordant images than this, the binomial probability is computed exactly; otherwise
 * by the chi-square distribution with Edwards's continuity correction. */
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

/* --- sorts many numbers, in a tenth of the time that qsort takes --- */

/* Sorts `count` numbers in ascending order, -0 before 0. NaN come last, or first if their sign is
 * set. If there is no memory for a copy of the numbers, it takes as long as qsort. */
void sort_doubles(double *values, size_t count);

#endif
