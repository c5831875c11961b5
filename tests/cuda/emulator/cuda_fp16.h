/* cuda_fp16.h, the emulator's: a float16 is a float of 10 bits behind the point. Its range is not
 * emulated. */
#ifndef TINCA_TESTS_CUDA_FP16_H
#define TINCA_TESTS_CUDA_FP16_H

#include "cuda_runtime.h"

struct __half {
    float value;
};

/* To the nearest number with so many bits behind the point, and of two to the even one. */
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
