/* incomplete_beta.h: the regularised incomplete beta function, from which the distributions of
 * Student and the binomial follow. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_INCOMPLETE_BETA_H
#define TINCA_BASE_STATISTICS_INCOMPLETE_BETA_H

/* Returns I_x(a, b) for a, b > 0: 0 for x <= 0, 1 for x >= 1, and NaN if an argument is NaN or a or
 * b is not positive. */
double incomplete_beta(double a, double b, double x);

#endif
