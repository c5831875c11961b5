/* Rounds to nearest, ties to even: adds half of the lowest bit that is kept, or a little less if
 * the result would be odd otherwise, and cuts off the rest. */
#include "base/float16.h"

#include <float.h>
#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Cuts off the lowest `count` bits. A carry into the exponent is right: it gives the next power of
 * two, or infinity. */
static uint16_t round_off(uint32_t bits, int count)
{
    const uint32_t half = (uint32_t)1 << (count - 1);
    return (uint16_t)((bits + half - 1 + (bits >> count & 1)) >> count);
}

uint16_t bf16_from_float(float value)
{
    const uint32_t quiet = 0x40;
    if (isnan(value)) /* the fraction's upper bits may be zero */
        return (uint16_t)(bits_of(value) >> 16 | quiet);
    return round_off(bits_of(value), 16);
}

float bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

float bf16_round(float value)
{
    if (fabsf(value) < FLT_MIN)
        return copysignf(0, value);
    return bf16_to_float(bf16_from_float(value));
}

uint16_t float16_from_float(float value)
{
    const uint32_t bits = bits_of(value), magnitude = bits & 0x7FFFFFFF;
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000), infinite = 0x7C00, quiet = 0x200;
    if (isnan(value))
        return (uint16_t)(sign | infinite | quiet | (magnitude >> 13 & 0x3FF));
    if (fabsf(value) >= 65520.0f)
        return sign | infinite;
    if (fabsf(value) < 0x1p-14f) /* below the normal values: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(fabsf(value) * 0x1p24f));
    const uint32_t other_bias = (uint32_t)(127 - 15) << 23;
    return sign | round_off(magnitude - other_bias, 13);
}

float float16_to_float(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1F;
    const uint32_t fraction = bits & 0x3FF;
    if (exponent == 0)
        return float_of(sign | bits_of((float)fraction * 0x1p-24f));
    if (exponent == 31)
        return float_of(sign | 0x7F800000 | fraction << 13);
    return float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}
