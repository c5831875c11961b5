/* number.h: conversion of floating-point numbers that nobody has checked, such as those of files. A
 * cast of what the integer type cannot hold is undefined. */
#ifndef TINCA_BASE_NUMBER_H
#define TINCA_BASE_NUMBER_H

#include <limits.h>
#include <stdint.h>

/* Returns `value` without its fraction; 0 for NaN and what is negative, UINT64_MAX for what is too
 * large. */
static inline uint64_t number_to_uint64(double value)
{
    if (!(value >= 0))
        return 0;
    return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

/* Returns `value` without its fraction; 0 for NaN, INT_MIN or INT_MAX for what lies beyond them. */
static inline int number_to_int(double value)
{
    if (value != value)
        return 0;
    return value <= INT_MIN ? INT_MIN : value >= INT_MAX ? INT_MAX : (int)value;
}

#endif
