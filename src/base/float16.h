/* float16.h: the two floating-point formats of 16 bits. Conversions round to the nearest value, and
 * ties to even; NaN stays NaN.
 *
 *   bf16      the upper half of a float32: 8 bits of exponent, 7 of the fraction
 *   float16   IEEE 754 binary16: 5 and 10; the largest finite value is 65504
 */
#ifndef TINCA_BASE_FLOAT16_H
#define TINCA_BASE_FLOAT16_H

#include <stdint.h>

uint16_t bf16_from_float(float value);
float bf16_to_float(uint16_t bits);

/* Values of 65520 and more become infinite. */
uint16_t float16_from_float(float value);
float float16_to_float(uint16_t bits);

#endif
