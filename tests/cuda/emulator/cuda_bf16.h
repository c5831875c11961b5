/* cuda_bf16.h of the emulator: a bfloat16 is a float whose lower 16 bits are zero. */
#ifndef TINCA_TESTS_CUDA_BF16_H
#define TINCA_TESTS_CUDA_BF16_H

#include "cuda_fp16.h"

struct __nv_bfloat16 {
    float value;
};

static inline __nv_bfloat16 __float2bfloat16(float value)
{
    return {emulator_round(value, 7)};
}

static inline float emulator_value(__nv_bfloat16 number)
{
    return number.value;
}

#endif
