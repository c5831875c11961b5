/* cuda_fp16.h of the emulator: a float16 is a float with 10 bits of fraction. Its range is not
 * emulated. */
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

static inline __half __float2half(float value)
{
    return {emulator_round(value, 10)};
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
