/* reduce.h: sums and maxima over a warp or a block, in a fixed order. Only the kernels of this
 * folder use it.
 *
 * All threads of the warp or block must call the function, and all get the result. A block must
 * consist of whole warps.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_REDUCE_H
#define TINCA_ENGINE_DEVICES_CUDA_REDUCE_H

#include "engine/devices/cuda/launch.h"

static __device__ __forceinline__ float warp_sum(float value)
{
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, lanes);
    return value;
}

static __device__ __forceinline__ float warp_max(float value)
{
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, lanes));
    return value;
}

/* Sums COUNT values at once, each over the block. The block has one dimension and at most 1024
 * threads. */
template <int COUNT> static __device__ __forceinline__ void block_sums(float values[COUNT])
{
    __shared__ float of_warps[COUNT][WARP];
    const unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    __syncthreads(); /* every thread has read the results of an earlier call */
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        values[i] = warp_sum(values[i]);
        if (lane == 0)
            of_warps[i][warp] = values[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        values[i] = warp_sum(lane < blockDim.x / WARP ? of_warps[i][lane] : 0.0f);
}

static __device__ __forceinline__ float block_sum(float value)
{
    block_sums<1>(&value);
    return value;
}

#endif
