/* functions.h: exp, log, erf, sigmoid and tanh without branches or tables, so that the compiler
 * turns loops over them into vector code. Only the kernels of this folder use it.
 *
 * They use the usual range reductions and minimax polynomials (coefficients as in Moshier's Cephes
 * library, single precision). Errors are a few units in the last place. NaN stays NaN.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_FUNCTIONS_H
#define TINCA_ENGINE_DEVICES_CPU_FUNCTIONS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float float_of_bits(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int32_t bits_of_float(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns e^x: exactly 1 at 0, exactly 0 below -87.3, infinity above 88.7. */
static inline float fast_exp(float x)
{
    const float lowest = -87.33f, highest = 88.72f, rounder = 0x1.8p23f;
    float clipped = x < lowest ? lowest : x;
    clipped = clipped > highest ? highest : clipped;
    const float shifted = clipped * 1.44269504f + rounder; /* low bits: the nearest integer */
    const float n = shifted - rounder;
    const float r = (clipped - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    /* n is in [-126, 128]; 2^128 is not a finite float, so the power is applied in two halves */
    const int32_t power = bits_of_float(shifted) - bits_of_float(rounder), half = power / 2;
    /* shifted as unsigned numbers, because power is arbitrary if x is NaN */
    const uint32_t low = (uint32_t)(half + 127) << 23, high = (uint32_t)(power - half + 127) << 23;
    float y = p * float_of_bits((int32_t)low) * float_of_bits((int32_t)high);
    y = x < lowest ? 0.0f : y;
    return x > highest ? INFINITY : y;
}

/* Returns e^x - 1 for x of at most 0, precise near 0. */
static inline float fast_expm1(float x)
{
    float p = 2.4801587302e-5f; /* 1 / 8!: the series is short enough above -1/2 */
    p = p * x + 1.9841269841e-4f;
    p = p * x + 1.3888888889e-3f;
    p = p * x + 8.3333333333e-3f;
    p = p * x + 4.1666666667e-2f;
    p = p * x + 1.6666666667e-1f;
    p = p * x + 5.0000000000e-1f;
    const float near = p * x * x + x;
    return x > -0.5f ? near : fast_exp(x) - 1.0f;
}

/* Returns the error function by a rational approximation; beyond 4 it is +-1 in float32. */
static inline float fast_erf(float x)
{
    float clipped = x < -4.0f ? -4.0f : x;
    clipped = clipped > 4.0f ? 4.0f : clipped;
    const float square = clipped * clipped;
    float p = -2.72614225801306e-10f;
    p = p * square + 2.77068142495902e-08f;
    p = p * square + -2.10102402082508e-06f;
    p = p * square + -5.69250639462346e-05f;
    p = p * square + -7.34990630326855e-04f;
    p = p * square + -2.95459980854025e-03f;
    p = p * square + -1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * square + -2.13374055278905e-04f;
    q = q * square + -1.68282697438203e-03f;
    q = q * square + -7.37332916720468e-03f;
    q = q * square + -1.42647390514189e-02f;
    return clipped * p / q;
}

/* Returns the natural logarithm of a positive, normal number. */
static inline float fast_log(float x)
{
    const int32_t bits = bits_of_float(x);
    /* x = m 2^e with m in [sqrt(1/2), sqrt(2)) */
    const int32_t e = (bits - 0x3f3504f3) >> 23;
    const float m = float_of_bits(bits - (int32_t)((uint32_t)e << 23)) - 1.0f;
    const float square = m * m, n = (float)e;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * square;
    p += n * -2.12194440e-4f;
    p -= 0.5f * square;
    return m + p + n * 0.693359375f;
}

/* Returns log(1 + z) for z in [0, 1], corrected for the rounding of 1 + z. */
static inline float fast_log1p(float z)
{
    const float u = 1.0f + z;
    return fast_log(u) + (z - (u - 1.0f)) / u;
}

static inline float fast_sigmoid(float x)
{
    return 1.0f / (1.0f + fast_exp(-x));
}

static inline float fast_tanh(float x)
{
    const float size = fabsf(x), square = x * x;
    float p = -5.70498872745e-3f; /* for small x: an odd polynomial, precise near 0 */
    p = p * square + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    const float small = p * square * x + x;
    const float large = 1.0f - 2.0f / (fast_exp(2.0f * size) + 1.0f);
    const float signed_large = x < 0 ? -large : large;
    return size < 0.625f ? small : signed_large;
}

#endif
