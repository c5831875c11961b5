/* divide.h: division by a number that is known before the kernel runs.
 *
 * Kernels often split an index into image, channel, row and column, and a GPU has no instruction
 * for integer division. n / d is computed as a multiplication by 2^(32 + s) / d and a shift
 * (Granlund & Montgomery 1994), which is exact for every n below 2^31.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_DIVIDE_H
#define TINCA_ENGINE_DEVICES_CUDA_DIVIDE_H

#include <cuda_runtime.h>

#include <stdint.h>

struct divisor {
    uint32_t value, multiplier, shift;
};

/* Returns the divisor for 1 <= value < 2^31. */
static inline struct divisor divisor_of(size_t value)
{
    struct divisor divisor = {(uint32_t)value, 0, 0};
    while (((uint64_t)1 << divisor.shift) < value)
        divisor.shift++;
    const uint64_t above = ((uint64_t)1 << divisor.shift) - value;
    divisor.multiplier = (uint32_t)((above << 32) / value + 1);
    return divisor;
}

static __host__ __device__ __forceinline__ uint32_t divide(uint32_t n, struct divisor by)
{
#ifdef __CUDA_ARCH__
    const uint32_t high = __umulhi(n, by.multiplier);
#else
    const uint32_t high = (uint32_t)(((uint64_t)n * by.multiplier) >> 32);
#endif
    return (high + n) >> by.shift;
}

/* Returns n / by and sets *rest to the remainder. */
static __host__ __device__ __forceinline__ uint32_t divide_rest(uint32_t n, struct divisor by,
                                                                uint32_t *rest)
{
    const uint32_t quotient = divide(n, by);
    *rest = n - quotient * by.value;
    return quotient;
}

#endif
