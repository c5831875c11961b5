/* launch.h: how this device's files start kernels. Not for use outside this room.
 *
 * One function instead of <<<>>>, so that the same source is plain C++ for the emulator of
 * tests/cuda. Every launch is checked; what fails is remembered by the context.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_LAUNCH_H
#define TINCA_ENGINE_DEVICES_CUDA_LAUNCH_H

#include "engine/devices/cuda/context.h"
#include "engine/devices/cuda/divide.h"
#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <stddef.h>
#include <stdint.h>

enum { WARP = 32, BLOCK = 256, BLOCK_WARPS = BLOCK / WARP };

/* Blocks that keep a large GPU busy: two for each of 132 multiprocessors. The same on every GPU, so
 * that how sums are split, and with it the bits, is too. Tests set it low, so that small cases take
 * the ways of large ones. */
extern unsigned cuda_busy_blocks;

/* The arguments have the kernel's types: deduced from it alone. */
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

static inline struct cuda_context *context_of(const struct kernel_call *call)
{
    return (struct cuda_context *)call->context;
}

static inline unsigned blocks_for(size_t items, size_t of_a_block)
{
    return (unsigned)((items + of_a_block - 1) / of_a_block);
}

/* Threads of a block that has `items` to do: whole warps. */
static inline unsigned block_threads(size_t items)
{
    const unsigned threads = WARP * blocks_for(items, WARP);
    return threads < BLOCK ? threads : (unsigned)BLOCK;
}

/* Blocks of a kernel that strides over `items`: enough for all, but no more than run at once. */
static inline unsigned stride_blocks(size_t items)
{
    const size_t limit = 8 * (size_t)cuda_busy_blocks, blocks = blocks_for(items, BLOCK);
    return (unsigned)(blocks < limit ? blocks : limit);
}

/* The first item and the step of a kernel that strides. Counts are below 2^31 (supports_counts), so
 * that first + step does not overflow. */
static __device__ __forceinline__ uint32_t stride_first(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ uint32_t stride_step(void)
{
    return gridDim.x * blockDim.x;
}

/* Values in the batch: of an input, of the output. */
static inline size_t input_values(const struct kernel_call *call, size_t k)
{
    return call->site->batch * shape_count(call->site->inputs[k]);
}
static inline size_t output_values(const struct kernel_call *call)
{
    return call->site->batch * shape_count(call->site->node->output);
}

static inline bool aligned16(const void *memory)
{
    return (uintptr_t)memory % 16 == 0;
}

/* Adds to what is there, or overwrites it. */
static __device__ __forceinline__ void gradient_store(float *at, bool accumulate, float value)
{
    *at = accumulate ? *at + value : value;
}

/* Element numbers are 32 bits wide. For kernel->supports. */
bool supports_counts(const struct kernel_site *site, const char **reason);

#endif
