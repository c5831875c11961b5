/* launch.h: how the files of this folder start kernels. Only they use it.
 *
 * One function replaces <<<>>>, so that the same source is plain C++ for the emulator of
 * tests/cuda. Every launch is checked; the context records the first failure.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_LAUNCH_H
#define TINCA_ENGINE_DEVICES_CUDA_LAUNCH_H

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/divide.h"
#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <atomic>
#include <stddef.h>
#include <stdint.h>

enum { WARP = 32, BLOCK = 256, BLOCK_WARPS = BLOCK / WARP };

/* The number of blocks that keeps the GPU busy: two for each multiprocessor of the GPU that was
 * opened first, 132 multiprocessors before that. It is the same for all GPUs of a process, so that
 * they divide sums, and round them, in the same way. Tests set it low, so that small cases take the
 * code paths of large ones. */
extern unsigned cuda_busy_blocks;

static inline size_t multiprocessor_count(void)
{
    return cuda_busy_blocks > 1 ? cuda_busy_blocks / 2 : 1;
}

/* Returns the blocks of a kernel that the GPU runs at once. How many a multiprocessor runs depends
 * on the kernel's registers and shared memory; *of_one, 0 at first, keeps what the first GPU says,
 * so that a plan and all GPUs of a process agree. */
template <class... P>
static inline size_t resident_blocks(void (*kernel)(P...), unsigned threads,
                                     std::atomic<unsigned> *of_one)
{
    unsigned known = of_one->load();
    if (known == 0) {
        int blocks = 0;
        if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads, 0) !=
            cudaSuccess)
            cudaGetLastError(); /* the launch will report it */
        const unsigned measured = blocks > 0 ? (unsigned)blocks : 1;
        if (of_one->compare_exchange_strong(known, measured))
            known = measured;
    }
    return known * multiprocessor_count();
}

/* Makes the compiler deduce the types of the arguments from the kernel only. */
template <class T> struct same {
    typedef T type;
};

template <class... P>
static inline void launch(struct cuda_context *context, const char *what, void (*kernel)(P...),
                          dim3 grid, dim3 block, size_t shared_bytes,
                          typename same<P>::type... arguments)
{
    void *list[] = {(void *)&arguments...};
    cuda_note(context, what,
              cudaLaunchKernel(kernel, grid, block, list, shared_bytes, context->stream));
}

/* Returns the context of the device that the call is for. */
static inline struct cuda_context *context_of(const struct kernel_call *call)
{
    return (struct cuda_context *)call->context;
}

/* Returns the number of blocks for `items`, with `per_block` items in each. */
static inline unsigned blocks_for(size_t items, size_t per_block)
{
    return (unsigned)((items + per_block - 1) / per_block);
}

/* Returns the threads of a block that has `items` items: whole warps, at most BLOCK. */
static inline unsigned block_threads(size_t items)
{
    const unsigned threads = WARP * blocks_for(items, WARP);
    return threads < BLOCK ? threads : (unsigned)BLOCK;
}

/* Returns the blocks of a kernel that strides over `items`: enough for all items, but no more than
 * the GPU runs at once. */
static inline unsigned stride_blocks(size_t items)
{
    const size_t limit = 8 * (size_t)cuda_busy_blocks, blocks = blocks_for(items, BLOCK);
    return (unsigned)(blocks < limit ? blocks : limit);
}

/* Return the first item and the step of a thread in a kernel that strides. Counts are below 2^31
 * (supports_counts), so that first + step does not overflow. */
static __device__ __forceinline__ uint32_t stride_first(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t stride_step(void)
{
    return gridDim.x * blockDim.x;
}

/* Return the values in the whole batch: of input k, and of the output. */
static inline size_t input_values(const struct kernel_call *call, size_t k)
{
    return call->site->batch * shape_count(call->site->inputs[k]);
}
static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->node->output);
}

/* Returns whether an array can be read 16 bytes at a time. */
static inline bool aligned16(const void *memory)
{
    return (uintptr_t)memory % 16 == 0;
}

/* Stores a gradient, or adds it to the one that is there. */
static __device__ __forceinline__ void gradient_store(float *at, bool accumulate, float value)
{
    *at = accumulate ? *at + value : value;
}

/* Implements `supports` of kernels: refuses 2^31 values or more in a batch, because indices have 32
 * bits. */
bool supports_counts(const struct kernel_site *site, const char **reason);

#endif
