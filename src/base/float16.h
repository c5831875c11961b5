/* float16.h: conversions between float32 and the two floating-point formats of 16 bits. They round
 * to the nearest value, and ties to even; NaN stays NaN.
 *
 *   bf16      the upper half of a float32: 8 bits of exponent, 7 of the fraction
 *   float16   IEEE 754 binary16: 5 and 10; the largest finite value is 65504
 */
#ifndef TINCA_BASE_FLOAT16_H
#define TINCA_BASE_FLOAT16_H

#include <stdint.h>

/* Returns the bits of the nearest bf16. */
uint16_t bf16_from_float(float value);

/* Returns the value of a bf16, which is exact. */
float bf16_to_float(uint16_t bits);

/* Returns the nearest bf16 as processors with products of bf16 round: 0, with its sign, for values
 * below the normal numbers. */
float bf16_round(float value);

/* Returns the bits of the nearest float16; that of 65520 and more is infinity. */
uint16_t float16_from_float(float value);

/* Returns the value of a float16, which is exact. */
float float16_to_float(uint16_t bits);

#endif
