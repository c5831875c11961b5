/* student_t.h: Student's t distribution, whose degrees of freedom need not be whole. Thread-safe.
 */
#ifndef TINCA_BASE_STATISTICS_STUDENT_T_H
#define TINCA_BASE_STATISTICS_STUDENT_T_H

/* Returns the probability of a value whose absolute value is at least |t|. */
double student_t_two_sided(double t, double freedom);

/* Returns the value that is exceeded with probability 1 - `probability`; infinite at 0 and 1, NaN
 * outside and unless `freedom` > 0. */
double student_t_quantile(double probability, double freedom);

#endif
