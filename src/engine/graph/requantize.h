/* requantize.h: the fixed-point arithmetic of precision int8, defined once for all kernels.
 *
 * A kernel sums products of integers in 32 bits: q of the input, 0..255, times q of the weights,
 * -127..127 (quantization.h). The sum stands for sum * real_unit, and has to become an integer of
 * the output's quantization, which takes a multiplication by a real number. No kernel multiplies in
 * floating point: the number is an integer of 32 bits times a power of two (Jacob et al. 2018,
 * "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference"),
 * so that every processor and every order of sums gives the same bits.
 *
 *   real = multiplier * 2^(left - right - 31), multiplier in [2^29, 2^30)
 *
 *   sum' = sum * 2^left, saturated               only where real >= 1/2
 *   q    = zero_point + ((sum' * multiplier + 2^(30 + right)) >> (31 + right)), and then 0..255
 *
 * The product has 64 bits. It is rounded once, halves up: the paper rounds its upper half first and
 * then shifts, which makes results up to a quarter too high where real is close to 1/4. As the
 * multiplier is below 2^30, no step but the first can overflow; what the first one saturates is far
 * beyond 0..255.
 */
#ifndef TINCA_ENGINE_GRAPH_REQUANTIZE_H
#define TINCA_ENGINE_GRAPH_REQUANTIZE_H

#include "engine/graph/quantization.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* A real factor as integers. */
struct requantizer {
    int32_t multiplier;
    int32_t left, right; /* 0..30; one of them is 0 */
};

/* Returns the factor nearest to `real`; those below 2^-32 become 0. */
static inline struct requantizer requantizer_make(double real)
{
    int exponent = 0;
    if (!(real > 0x1p-32) || !isfinite(real))
        return (struct requantizer){0};
    int64_t multiplier = llrint(frexp(real, &exponent) * 0x1p30);
    exponent++;
    if (multiplier == (int64_t)1 << 30) {
        multiplier /= 2;
        exponent++;
    }
    const int left = exponent > 0 ? exponent : 0, right = exponent < 0 ? -exponent : 0;
    return (struct requantizer){(int32_t)multiplier, left < 30 ? left : 30,
                                right < 30 ? right : 30};
}

/* Returns sum * real, rounded as above, without zero point and clamping. */
static inline int32_t requantize(int32_t sum, struct requantizer by)
{
    const int32_t most = INT32_MAX >> by.left;
    const int32_t clamped = sum > most ? most : sum < -most ? -most : sum;
    const int64_t product = (int64_t)(clamped * (1 << by.left)) * by.multiplier;
    return (int32_t)((product + ((int64_t)1 << (30 + by.right))) >> (31 + by.right));
}

/* Returns an integer of the output between `least` and 255. */
static inline uint8_t requantize_clamp(int32_t value, int32_t least)
{
    return (uint8_t)(value < least ? least : value > QUANTIZED_MAX ? QUANTIZED_MAX : value);
}

/* --- sums of quantized values --- */

enum { ADD_MAX_INPUTS = 8 };

/* The factors of an addition of quantized values, which all have one power of two:
 *
 *   q = zero_point + ((sum over k of factor[k] * (q[k] - zero_point[k]) + 2^right / 2) >> right)
 */
struct add_factors {
    int32_t factor[ADD_MAX_INPUTS]; /* below 2^15: they fit into 16 bits, and sums of products into
                                       32 */
    int32_t right;                  /* 1..30 */
};

/* Returns the factors for inputs[0..count) and an output. */
static inline struct add_factors add_factors_make(const struct quantization *inputs, size_t count,
                                                  struct quantization output)
{
    struct add_factors factors = {.right = 30};
    double largest = 0;
    int exponent;
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, (double)inputs[k].scale / output.scale);
    frexp(largest, &exponent); /* largest < 2^exponent */
    factors.right = 15 - exponent < 1 ? 1 : 15 - exponent > 30 ? 30 : 15 - exponent;
    for (size_t k = 0; k < count; k++) {
        const double real = (double)inputs[k].scale / output.scale;
        factors.factor[k] = (int32_t)fmin(rint(ldexp(real, factors.right)), INT16_MAX);
    }
    return factors;
}

/* Returns what is added to the sum of the products factor[k] * q[k], so that it is rounded and the
 * zero points of the inputs are subtracted. */
static inline int32_t add_offset(const struct add_factors *factors,
                                 const struct quantization *inputs, size_t count)
{
    int32_t offset = (1 << factors->right) >> 1;
    for (size_t k = 0; k < count; k++)
        offset -= factors->factor[k] * inputs[k].zero_point;
    return offset;
}

#endif
