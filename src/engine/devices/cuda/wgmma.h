/* wgmma.h: the instructions of Hopper's tensor cores (compute capability 9.0), of their barriers
 * and of the tensor memory accelerator (TMA). Only gemm_wgmma.cu uses it.
 *
 * They exist in code for sm_90a only (__CUDA_ARCH_FEAT_SM90_ALL). The sections that are named are
 * those of NVIDIA's manual "PTX ISA". wgmma.cpp of tests/cuda/emulator does the same without a GPU.
 *
 * A warpgroup is four warps, the first of which has a number that is a multiple of 4; all of its
 * threads must call wgmma_* together. Products and copies of the TMA access shared memory through
 * the "async proxy": what threads store there must be fenced (fence_async) before it is read.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_WGMMA_H
#define TINCA_ENGINE_DEVICES_CUDA_WGMMA_H

#include "engine/devices/cuda/mma.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <stdint.h>

enum { WGMMA_ROWS = 64, WGMMA_COLUMNS = 128, WGMMA_SUMS = 64 }; /* of one product; per thread */

#ifdef CUDA_EMULATED
#include <emulated_wgmma.h>
#define HAS_WGMMA 1
#else
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define HAS_WGMMA 1
#else
#define HAS_WGMMA 0
#endif

/* Returns the shared memory whose size the launch gives. */
static __device__ __forceinline__ char *dynamic_shared(void)
{
    extern __shared__ char memory[];
    return memory;
}

/* Stores 16 bytes in shared memory, for fence_async to follow. */
static __device__ __forceinline__ void shared_store_16(void *to, uint4 words)
{
    *(uint4 *)to = words;
}

#if HAS_WGMMA
/* --- barriers in shared memory ("mbarrier") --- */

/* Prepares a barrier for one arrival in each of its phases. mbarrier_publish must follow, and a
 * barrier of the block, before others use it. */
static __device__ __forceinline__ void mbarrier_init(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier))
                 : "memory");
}
static __device__ __forceinline__ void mbarrier_publish(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* Arrives, and lets the phase also wait for so many bytes ("mbarrier.arrive", .expect_tx). */
static __device__ __forceinline__ void mbarrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
        "r"(bytes)
        : "memory");
}

/* Waits until the phase of this parity is complete; that of the first phase is 0
 * ("mbarrier.try_wait", which itself waits for a while). */
static __device__ __forceinline__ void mbarrier_wait(uint64_t *barrier, uint32_t parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(barrier)),
                 "r"(parity)
                 : "memory");
}

/* --- copies of the TMA --- */

/* Begins to copy the map's box from (x, y) on to shared memory; elements outside of the tensor are
 * zeros. The barrier counts the bytes of the whole box ("cp.async.bulk.tensor"). */
static __device__ __forceinline__ void tma_load_2d(void *to, const CUtensorMap *map, int x, int y,
                                                   uint64_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
                 : "memory");
}

/* Makes this thread's stores to shared memory visible to products, once the block has passed a
 * barrier ("fence.proxy.async", in "membar/fence"). */
static __device__ __forceinline__ void fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* --- products --- */

/* Must come before the first product, and again after other instructions wrote the sums
 * ("wgmma.fence"). */
static __device__ __forceinline__ void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/* Makes a group of the products that were begun since the last call ("wgmma.commit_group"). */
static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until all groups but the last LEFT are done ("wgmma.wait_group"). */
template <int LEFT> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

/* Keeps the compiler from moving accesses to the sums over a call of wgmma_wait or wgmma_fence. */
static __device__ __forceinline__ void wgmma_hold(float d[WGMMA_SUMS])
{
#pragma unroll
    for (int i = 0; i < WGMMA_SUMS; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/* The text of a product; it always adds to the sums (scale-d is true), and takes the operands with
 * their signs. Those of 16 bits are followed by whether they are transposed: not. */
#define WGMMA(kind, ending)                                                                        \
    asm volatile(                                                                                  \
        "{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\n"                                             \
        "wgmma.mma_async.sync.aligned." kind " "                                                   \
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                  \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "         \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "         \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "        \
        "%64, %65, add, 1, 1" ending ";\n}"                                                        \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),      \
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),  \
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),            \
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),            \
          "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),            \
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]),            \
          "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),            \
          "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),            \
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),            \
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),            \
          "+f"(d[62]), "+f"(d[63])                                                                 \
        : "l"(a), "l"(b))

/* d[64][128] += a[64][8] b[128][8]^T in TF32, whose lower 13 bits are ignored; with 16-bit operands
 * there are 16 terms. `a` and `b` are descriptors (wgmma_tile.h). Thread i of the warpgroup holds
 * d[wgmma_row(i, e)][wgmma_column(i, e)] ("Matrix Fragments for wgmma.mma_async.m64nNk8"). */
static __device__ __forceinline__ void wgmma_tf32(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
{
    WGMMA("m64n128k8.f32.tf32.tf32", "");
}
static __device__ __forceinline__ void wgmma_bf16(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
{
    WGMMA("m64n128k16.f32.bf16.bf16", ", 0, 0");
}
static __device__ __forceinline__ void wgmma_fp16(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
{
    WGMMA("m64n128k16.f32.f16.f16", ", 0, 0");
}
#undef WGMMA
#endif
#endif

#endif
