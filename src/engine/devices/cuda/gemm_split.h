/* gemm_split.h: division of an implicit GEMM (implicit_gemm.h) among tiles and, where there are too
 * few of them to keep the GPU busy, of a tile's sum into parts (split-K). Only the files of the
 * implicit GEMM use it.
 *
 * Each block computes one part of a tile and writes its sums to the workspace; the block that
 * arrives last adds the parts in their order, and stores the tile as if it had computed it alone:
 * with bias, relu, moves, layout and what is accumulated. Which block is the last one changes from
 * run to run, the order of the additions does not. No second kernel is started, which would cost
 * more than the additions. The number of parts depends on shapes and on the number of
 * multiprocessors only. */
#ifndef TINCA_ENGINE_DEVICES_CUDA_GEMM_SPLIT_H
#define TINCA_ENGINE_DEVICES_CUDA_GEMM_SPLIT_H

#include "engine/devices/cuda/implicit_gemm.h"

/* --- the choice: gemm_split.cu --- */

/* The tiles, largest first. Tiles of GEMM_SLICED divide their terms among the warps of a block. */
enum gemm_tile { GEMM_LARGE, GEMM_SMALL, GEMM_LOW, GEMM_LOWEST, GEMM_SLICED, GEMM_TILES };

struct gemm_tile_size {
    uint32_t rows, columns;
};
extern const struct gemm_tile_size gemm_tile_sizes[GEMM_TILES];

/* The operands of the products of a pass: float32, or a smaller type for tensor cores, whose values
 * are loaded one by one or by channels (GEMM_TENSOR_LAST, see gather_is_wide_by_channels). */
enum gemm_operands { GEMM_FLOAT32, GEMM_TENSOR, GEMM_TENSOR_LAST, GEMM_OPERANDS };

struct gemm_division {
    enum gemm_tile tile;
    uint32_t parts, part_terms; /* with more than one part, part_terms is a multiple of 16 */
};

/* Returns the division that is estimated to take the least time. */
struct gemm_division gemm_divide(const struct implicit_gemm *w, enum gemm_operands operands);

/* Returns the blocks of one part. */
dim3 gemm_grid(const struct implicit_gemm *w, enum gemm_tile tile);

/* --- in kernels --- */

/* The most values of a tile that is divided: with larger ones the last block would read for too
 * long, and their kernels have no register left. */
enum { GEMM_MOST_DIVIDED = 4096 };

/* The part of a block: the terms [first, end). `z` is the block's index along z in a grid without
 * parts. */
struct gemm_part {
    uint32_t z, first, end;
};

/* Returns the part of a block of tile T. */
template <class T>
static __device__ __forceinline__ struct gemm_part gemm_part_of(const struct gemm_result *result)
{
    struct gemm_part part = {blockIdx.z, 0, UINT32_MAX};
    if (T::ROWS * T::COLUMNS > GEMM_MOST_DIVIDED)
        return part;
    const uint32_t depth = gridDim.z / result->parts;
    part.z = blockIdx.z % depth;
    part.first = blockIdx.z / depth * result->part_terms;
    part.end = part.first + result->part_terms;
    return part;
}

/* Restricts the part to the terms of a phase, which may have fewer than others, even none. */
static __device__ __forceinline__ void gemm_part_limit(struct gemm_part *part, uint32_t terms)
{
    part->first = min(part->first, terms);
    part->end = min(part->end, terms);
}

/* Returns blockIdx.z and hides this from the compiler, which then computes the part again after the
 * loop over the terms, and leaves the registers to that loop. */
static __device__ __forceinline__ uint32_t gemm_block_z(void)
{
#ifdef CUDA_EMULATED
    return blockIdx.z;
#else
    uint32_t z;
    asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(z));
    return z;
#endif
}

/* Replaces the COUNT sums of each thread by those over all parts of the tile. Returns false if they
 * are not complete: another block stores them. All THREADS threads of the block must call. */
template <int COUNT, int THREADS>
static __device__ __forceinline__ bool gemm_join(const struct gemm_result *result, float *sums)
{
    static_assert(COUNT % 4 == 0, "sums are written 16 bytes at a time");
    enum { UNROLL = COUNT > 16 ? 1 : 16 / COUNT * 2 };
    __shared__ bool last;
    if (COUNT * THREADS > GEMM_MOST_DIVIDED || result->parts == 1)
        return true;
    const uint32_t block_z = gemm_block_z(), depth = gridDim.z / result->parts;
    const uint32_t part = block_z / depth, z = block_z % depth;
    const uint32_t tile = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * z);
    float *first =
        result->partial + (size_t)tile * result->parts * (COUNT * THREADS) + 4 * threadIdx.x;
    float4 *mine = (float4 *)(first + part * (COUNT * THREADS));
#pragma unroll
    for (int i = 0; i < COUNT; i += 4)
        mine[i / 4 * THREADS] = make_float4(sums[i], sums[i + 1], sums[i + 2], sums[i + 3]);
    __threadfence(); /* other blocks see the sums before the arrival */
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicAdd(&result->arrivals[tile], 1u) == result->parts - 1;
    __syncthreads();
    if (!last)
        return false;
    __threadfence();
    if (threadIdx.x == 0)
        result->arrivals[tile] = 0; /* for the next kernel */
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        sums[i] = 0;
#pragma unroll UNROLL
    for (uint32_t p = 0; p < result->parts; p++) {
        const float4 *of_part = (const float4 *)(first + p * (COUNT * THREADS));
#pragma unroll
        for (int i = 0; i < COUNT; i += 4) {
            const float4 four = __ldcg(&of_part[i / 4 * THREADS]);
            sums[i] += four.x;
            sums[i + 1] += four.y;
            sums[i + 2] += four.z;
            sums[i + 3] += four.w;
        }
    }
    return true;
}

#endif
