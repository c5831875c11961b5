/* mma.h: the instructions of tensor cores, and of copies into shared memory. Only the convolution
 * kernels use it.
 *
 * All 32 lanes of a warp must call mma_* and ldmatrix_x4* together. In the comments below, g is
 * lane / 4 and t is lane % 4; a matrix element is named [row][column]. The sections that are named
 * are those of NVIDIA's manual "PTX ISA". mma.cpp of tests/cuda/emulator does the same without a
 * GPU.
 *
 * Code for sm_75 has products of float16 only; the other functions must not be called there
 * (operand types: tensor_tile.h).
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_MMA_H
#define TINCA_ENGINE_DEVICES_CUDA_MMA_H

#include <cuda_runtime.h>

#include <stdint.h>

#ifdef CUDA_EMULATED
#include <emulated_mma.h>
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string.h>

static __device__ __forceinline__ uint32_t shared_address(const void *shared)
{
    return (uint32_t)__cvta_generic_to_shared(shared);
}

/* --- operands --- */

/* Returns the bits of a float32, rounded to TF32: 10 bits of fraction, ties away from zero ("cvt",
 * rounding .rna). */
static __device__ __forceinline__ uint32_t round_tf32(uint32_t bits)
{
    uint32_t rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
    return rounded;
}

/* Return two floats, rounded to the nearest bfloat16 or float16; `low` is in the lower half. */
static __device__ __forceinline__ uint32_t pack_bf16(float low, float high)
{
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
}
static __device__ __forceinline__ uint32_t pack_fp16(float low, float high)
{
    const __half2 pair = __floats2half2_rn(low, high);
    uint32_t word;
    memcpy(&word, &pair, sizeof word);
    return word;
}

/* --- products --- */

/* d[16][8] += a[16][8] b[8][8] ("Matrix Fragments for mma.m16n8k8", .tf32). The lane holds
 * a[g][t], a[g + 8][t], a[g][t + 4], a[g + 8][t + 4]; b[t][g], b[t + 4][g];
 * d[g][2 t], d[g][2 t + 1], d[g + 8][2 t], d[g + 8][2 t + 1]. */
static __device__ __forceinline__ void mma_tf32(float d[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* d[16][8] += a[16][16] b[16][8] ("Matrix Fragments for mma.m16n8k16 with floating point type",
 * .bf16 and .f16). A word has two elements of successive k, the first in its lower half. The lane
 * holds a[g][2 t ..], a[g + 8][2 t ..], a[g][2 t + 8 ..], a[g + 8][2 t + 8 ..];
 * b[2 t ..][g], b[2 t + 8 ..][g]; and of d the same elements as for mma_tf32. */
static __device__ __forceinline__ void mma_bf16(float d[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ void mma_fp16(float d[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else /* sm_75 has products of half as many terms */
#pragma unroll
    for (int half = 0; half < 2; half++)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[2 * half]), "r"(a[2 * half + 1]), "r"(b[half]));
#endif
}

/* --- fragments from shared memory --- */

/* Loads four matrices of 8 rows of 16 bytes ("ldmatrix", .m8n8.x4.b16). Lane 8 m + r passes the
 * address of row r of matrix m, a multiple of 16. to[m] is word t of row g of matrix m; with
 * _transposed, where an element has 16 bits, it is elements [2 t][g] and [2 t + 1][g]. */
static __device__ __forceinline__ void ldmatrix_x4(uint32_t to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}
static __device__ __forceinline__ void ldmatrix_x4_transposed(uint32_t to[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row)));
}

/* --- asynchronous copies, from sm_80 on --- */

/* Begin to copy 4 or 16 bytes, at addresses that are multiples of that, from global to shared
 * memory ("cp.async"). If `there` is false, zeros are written and `from` is not read. */
static __device__ __forceinline__ void cp_async_4(void *shared, const float *from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)),
                 "l"(from), "r"(there ? 4 : 0));
}
static __device__ __forceinline__ void cp_async_16(void *shared, const float *from, bool there)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(from), "r"(there ? 16 : 0));
}

/* Makes a group of the copies that this thread has begun since the last call
 * ("cp.async.commit_group"). */
static __device__ __forceinline__ void cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all of this thread's groups but the last LEFT have arrived ("cp.async.wait_group").
 * Other threads see them after a barrier. */
template <int LEFT> static __device__ __forceinline__ void cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
#endif

#endif
