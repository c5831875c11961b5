/* number.h: safe conversion of unchecked floating-point numbers, such as those from files. In C, a
 * cast is undefined if the integer type cannot hold the value. */
#ifndef TINCA_BASE_NUMBER_H
#define TINCA_BASE_NUMBER_H

#include <limits.h>
#include <stdint.h>

/* Returns `value` truncated; 0 for NaN and negative values, UINT64_MAX for values beyond it. */
static inline uint64_t number_to_uint64(double value)
{
    if (!(value >= 0))
        return 0;
    return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

/* Returns `value` truncated; 0 for NaN, INT_MIN or INT_MAX for values beyond them. */
static inline int number_to_int(double value)
{
    if (value != value)
        return 0;
    return value <= INT_MIN ? INT_MIN : value >= INT_MAX ? INT_MAX : (int)value;
}

#endif
