/* chi_square.h: the chi-square distribution. Thread-safe. */
#ifndef TINCA_BASE_STATISTICS_CHI_SQUARE_H
#define TINCA_BASE_STATISTICS_CHI_SQUARE_H

/* Returns the probability of a value of at least `x`; NaN unless `freedom` > 0. */
double chi_square_exceeds(double x, double freedom);

#endif
