/* cuda_fp16.h of the emulator: a float16 is a float with the values that a float16 can have. */
#ifndef TINCA_TESTS_CUDA_FP16_H
#define TINCA_TESTS_CUDA_FP16_H

#include "cuda_runtime.h"

struct __half {
    float value;
};

/* Rounds to the nearest number with this many bits of fraction, ties to even. */
static inline float emulator_round(float value, int bits)
{
    uint32_t word;
    const int lost = 23 - bits;
    memcpy(&word, &value, sizeof word);
    word += (1u << (lost - 1)) - 1 + (word >> lost & 1);
    word &= ~((1u << lost) - 1);
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Numbers below 2^-14 are multiples of 2^-24, and those above 65504 become infinite. */
static inline __half __float2half(float value)
{
    if (!std::isfinite(value))
        return {value};
    if (std::fabs(value) < 0x1p-14f)
        return {std::rint(value * 0x1p24f) * 0x1p-24f};
    const float rounded = emulator_round(value, 10);
    return {std::fabs(rounded) > 65504.0f ? std::copysign(INFINITY, value) : rounded};
}

static inline float emulator_value(__half number)
{
    return number.value;
}
static inline float emulator_value(float number)
{
    return number;
}

#endif
