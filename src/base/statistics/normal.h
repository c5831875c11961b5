/* normal.h: the standard normal distribution. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_NORMAL_H
#define TINCA_BASE_STATISTICS_NORMAL_H

/* Returns the probability of a value up to `z`. */
double normal_probability(double z);

/* Returns the value that is exceeded with probability 1 - `probability`; infinite at 0 and 1, NaN
 * outside. */
double normal_quantile(double probability);

#endif
