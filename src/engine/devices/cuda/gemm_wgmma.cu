/* Large matrix products on Hopper's tensor cores (gemm.h, wgmma_tile.h).
 *
 * Values are float32 in memory and must be rounded before they are multiplied, which neither a
 * product nor the TMA can do. So the operands take two ways:
 *
 *   left    The weights of a 1x1 convolution of plain values; of channels-last ones the pixels, or
 *           their gradient. A kernel rounds it into the workspace, row by row, with the
 *           terms as neighbours. The product's blocks, each of which reads 128 rows of it, copy it
 *           by the TMA, two steps ahead.
 *   right   Goes through registers: loaded two steps ahead, 16 bytes at a time, rounded and
 *           transposed if need be, and stored in the other half of the stage while the tensor cores
 *           multiply the step before.
 *
 * A block has two warpgroups, which multiply 64 rows of its tile each, and 128 columns. One group
 * of products is always in flight. Sums are float32; the terms are added in their order, 8 (TF32)
 * or 16 at a time, in one chain for each element, whereas cuBLAS may divide the terms among blocks.
 */
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/tensor_tile.h"
#include "engine/devices/cuda/wgmma_tile.h"

#include <cuda.h>

/* --- the instructions of Hopper's tensor cores (compute capability 9.0), of their barriers and of
 * the tensor memory accelerator (TMA) ---
 *
 * They exist in code for sm_90a only (__CUDA_ARCH_FEAT_SM90_ALL). The sections that are named are
 * those of NVIDIA's manual "PTX ISA". wgmma.cpp of tests/cuda/emulator does the same without a GPU.
 *
 * A warpgroup is four warps, the first of which has a number that is a multiple of 4; all of its
 * threads must call wgmma_* together. Products and copies of the TMA access shared memory through
 * the "async proxy": what threads store there must be fenced (fence_async) before it is read. */

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

/* Arrives, and lets the phase also wait for `bytes` bytes ("mbarrier.arrive", .expect_tx). */
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

/* Orders the sums before products: it must come before the first product, and again after other
 * instructions wrote the sums ("wgmma.fence"). */
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
 * their signs. Instructions for operands of 16 bits have two more arguments, which say that no
 * operand is transposed. */
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

/* --- operands --- */

/* CHUNK: values in 16 bytes of shared memory. */
struct wide_tf32 {
    enum { CHUNK = 4 };
    static __device__ __forceinline__ uint4 round(const float v[CHUNK])
    {
        return make_uint4(round_tf32(__float_as_uint(v[0])), round_tf32(__float_as_uint(v[1])),
                          round_tf32(__float_as_uint(v[2])), round_tf32(__float_as_uint(v[3])));
    }
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
    {
        wgmma_tf32(d, a, b);
    }
#endif
};

template <class O> struct wide_16 {
    enum { CHUNK = 8 };
    static __device__ __forceinline__ uint4 round(const float v[CHUNK])
    {
        return make_uint4(O::pack(v[0], v[1]), O::pack(v[2], v[3]), O::pack(v[4], v[5]),
                          O::pack(v[6], v[7]));
    }
};
struct wide_bf16 : wide_16<operand_bf16> {
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
    {
        wgmma_bf16(d, a, b);
    }
#endif
};
struct wide_fp16 : wide_16<operand_fp16> {
#if HAS_WGMMA
    static __device__ __forceinline__ void multiply(float d[WGMMA_SUMS], uint64_t a, uint64_t b)
    {
        wgmma_fp16(d, a, b);
    }
#endif
};

template <class O> static __host__ __device__ __forceinline__ constexpr uint32_t tile_terms(void)
{
    return (uint32_t)O::CHUNK * TILE_CHUNKS; /* of a stage */
}

/* --- the left operand --- */

struct left_job {
    const float *from; /* [rows][terms], or [terms][rows] */
    uint32_t rows, terms;
    struct divisor lines; /* chunks of a row, or, if the terms come first, rows */
    uint32_t count;       /* chunks in all */
};

/* Rounds the left operand to [rows][terms]; zeros fill each row's last chunk. Successive threads
 * read neighbours in memory. */
template <class O, bool TERMS_FIRST>
static __global__ void round_left(const struct left_job job, uint4 *to)
{
#if HAS_WGMMA
    const uint32_t chunks = (job.terms + O::CHUNK - 1) / O::CHUNK;
    for (uint32_t i = stride_first(); i < job.count; i += stride_step()) {
        uint32_t rest;
        const uint32_t line = divide_rest(i, job.lines, &rest);
        const uint32_t row = TERMS_FIRST ? rest : line, chunk = TERMS_FIRST ? line : rest;
        float values[O::CHUNK];
#pragma unroll
        for (uint32_t k = 0; k < O::CHUNK; k++) {
            const uint32_t term = chunk * O::CHUNK + k;
            values[k] = term >= job.terms ? 0.0f
                        : TERMS_FIRST     ? job.from[(size_t)term * job.rows + row]
                                          : job.from[(size_t)row * job.terms + term];
        }
        to[(size_t)row * chunks + chunk] = O::round(values);
    }
#endif
}

/* --- the product --- */

struct wide_job {
    const float *right; /* images of [terms][image.value], or [columns][terms] */
    float *to;          /* images of [rows][image.value] */
    uint32_t rows, columns, terms;
    struct divisor image; /* columns of an image */
    uint32_t right_image, to_image;
    bool add; /* to the values there */
};

/* The part of the right operand that a thread loads. Where columns lie outside of the product it
 * loads those of column 0, whose sums are not stored. */
template <class O, bool BY_TERMS> struct right_load {
    struct tile_share share;
    uint32_t at;      /* where term 0 of the first line lies */
    int columns_left; /* from the first line on */
    float values[4][O::CHUNK];

    __device__ __forceinline__ void begin(const struct wide_job *job, uint32_t first_column)
    {
        share = tile_share_of(threadIdx.x, BY_TERMS);
        columns_left = (int)job->columns - (int)(first_column + share.line);
        const uint32_t column = columns_left > 0 ? first_column + share.line : 0;
        uint32_t position;
        const uint32_t image = divide_rest(column, job->image, &position);
        at = BY_TERMS ? image * job->right_image + position : column * job->terms;
    }

    /* Loads the chunks of the terms from `first` on; terms outside of the product are zeros. Only
     * the last steps have some, so the others do not ask. */
    __device__ __forceinline__ void load(const struct wide_job *job, uint32_t first)
    {
        const uint32_t term = first + share.chunk * O::CHUNK;
        if (first + tile_terms<O>() <= job->terms)
            load_terms<true>(job, term);
        else
            load_terms<false>(job, term);
    }

    template <bool ALL>
    __device__ __forceinline__ void load_terms(const struct wide_job *job, uint32_t term)
    {
        if constexpr (BY_TERMS) {
            const float *from = job->right + (at + term * job->image.value);
#pragma unroll
            for (uint32_t k = 0; k < O::CHUNK; k++, from += job->image.value) {
                const float4 four = load_four(from, ALL || term + k < job->terms);
                values[0][k] = four.x;
                values[1][k] = four.y;
                values[2][k] = four.z;
                values[3][k] = four.w;
            }
        } else {
#pragma unroll
            for (uint32_t u = 0; u < 4; u++) {
                const uint32_t line = (int)(u * share.step) < columns_left ? u * share.step : 0;
                const float *from = job->right + (at + line * job->terms + term);
#pragma unroll
                for (uint32_t k = 0; k < O::CHUNK; k += 4) {
                    const float4 four = load_four(from + k, ALL || term + k < job->terms);
                    values[u][k] = four.x;
                    values[u][k + 1] = four.y;
                    values[u][k + 2] = four.z;
                    values[u][k + 3] = four.w;
                }
            }
        }
    }

    static __device__ __forceinline__ float4 load_four(const float *from, bool there)
    {
        return there ? __ldg((const float4 *)from) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    /* Stores the rounded chunks in the right side of a stage. */
    __device__ __forceinline__ void put(char *side) const
    {
#pragma unroll
        for (uint32_t u = 0; u < 4; u++)
            shared_store_16(side + tile_offset(share.line + u * share.step, share.chunk),
                            O::round(values[u]));
    }
};

#if HAS_WGMMA
/* Begins to copy the left operand's rows from `row` on, terms of this step, to its stage. */
template <class O>
static __device__ __forceinline__ void fetch_left(const CUtensorMap *left, char *ring,
                                                  uint64_t *full, uint32_t row, uint32_t step)
{
    const uint32_t stage = tile_stage(step);
    mbarrier_expect(&full[stage], TILE_SIDE_BYTES);
    tma_load_2d(ring + stage * TILE_STAGE_BYTES, left, (int)(step * tile_terms<O>()), (int)row,
                &full[stage]);
}

/* Begins to add the products of a stage: of this warpgroup's rows and all columns. */
template <class O>
static __device__ __forceinline__ void add_stage(float sums[WGMMA_SUMS], uint32_t ring,
                                                 uint32_t step)
{
    const uint32_t stage = ring + tile_stage(step) * TILE_STAGE_BYTES;
    const uint32_t left = stage + threadIdx.x / WARPGROUP * WGMMA_ROWS * TILE_LINE_BYTES;
#pragma unroll
    for (uint32_t p = 0; p < TILE_PRODUCTS; p++)
        O::multiply(sums, tile_descriptor(left + p * TILE_PRODUCT_BYTES),
                    tile_descriptor(stage + TILE_SIDE_BYTES + p * TILE_PRODUCT_BYTES));
    wgmma_commit();
}

/* Stores the sums, or adds them to the values there: two neighbours at a time, because a column has
 * an even number and images have multiples of four. */
static __device__ __forceinline__ void
store_sums(const struct wide_job *job, struct tile_place place, const float sums[WGMMA_SUMS])
{
    const uint32_t thread = threadIdx.x % WARPGROUP;
    const uint32_t row = place.row + threadIdx.x / WARPGROUP * WGMMA_ROWS + wgmma_row(thread, 0);
#pragma unroll
    for (uint32_t e = 0; e < WGMMA_SUMS; e += 4) {
        const uint32_t column = place.column + wgmma_column(thread, e);
        uint32_t position;
        const uint32_t image = divide_rest(column, job->image, &position);
        float *const to = job->to + (image * job->to_image + row * job->image.value + position);
#pragma unroll
        for (uint32_t half = 0; half < 2; half++) {
            if (column >= job->columns || row + 8 * half >= job->rows)
                continue;
            float2 *const at = (float2 *)(to + 8 * half * job->image.value);
            const float2 old = job->add ? *at : make_float2(0.0f, 0.0f);
            *at = make_float2(old.x + sums[e + 2 * half], old.y + sums[e + 2 * half + 1]);
        }
    }
}

/* Computes the sums of a tile. In each step the products of the step are begun; then the right
 * operand of the next one is stored and that of the one after it is loaded; then those of the step
 * before are waited for, and their stage is given to the TMA. A stage is written again three steps
 * later, two barriers after its products were done. */
template <class O, bool BY_TERMS>
static __device__ __forceinline__ void sum_tile(const CUtensorMap *left, const struct wide_job *job,
                                                struct tile_place place, char *ring, uint64_t *full,
                                                float sums[WGMMA_SUMS])
{
    const uint32_t steps = (job->terms + tile_terms<O>() - 1) / tile_terms<O>();
    const uint32_t address = shared_address(ring);
    const bool first = threadIdx.x == 0;
    struct right_load<O, BY_TERMS> load;
    for (uint32_t step = 0; first && step < TILE_STAGES && step < steps; step++)
        fetch_left<O>(left, ring, full, place.row, step);
    load.begin(job, place.column);
    load.load(job, 0);
    load.put(ring + TILE_SIDE_BYTES);
    load.load(job, tile_terms<O>());
    fence_async();
    __syncthreads();
#pragma unroll
    for (int e = 0; e < WGMMA_SUMS; e++)
        sums[e] = 0;
    wgmma_hold(sums);
#pragma unroll 1
    for (uint32_t step = 0; step < steps; step++) {
        mbarrier_wait(&full[tile_stage(step)], tile_parity(step));
        wgmma_fence();
        add_stage<O>(sums, address, step);
        load.put(ring + tile_stage(step + 1) * TILE_STAGE_BYTES + TILE_SIDE_BYTES);
        fence_async();
        load.load(job, (step + 2) * tile_terms<O>());
        wgmma_wait<1>();
        __syncthreads();
        if (first && step > 0 && step - 1 + TILE_STAGES < steps)
            fetch_left<O>(left, ring, full, place.row, step - 1 + TILE_STAGES);
    }
    wgmma_wait<0>();
    wgmma_hold(sums);
}
#endif

/* Computes the products; `left` is a map of the rounded operand. */
template <class O, bool BY_TERMS>
static __global__ void __launch_bounds__(TILE_THREADS, 2)
    multiply_wide(const __grid_constant__ CUtensorMap left,
                  const __grid_constant__ struct wide_job job)
{
#if HAS_WGMMA
    __shared__ uint64_t full[TILE_STAGES];
    char *const memory = dynamic_shared();
    char *const ring = memory + tile_padding(shared_address(memory));
    const struct tile_place place = tile_place_of(blockIdx.x, job.rows);
    float sums[WGMMA_SUMS];
    if (threadIdx.x == 0) {
        for (uint32_t stage = 0; stage < TILE_STAGES; stage++)
            mbarrier_init(&full[stage]);
        mbarrier_publish();
    }
    __syncthreads();
    sum_tile<O, BY_TERMS>(&left, &job, place, ring, full, sums);
    store_sums(&job, place, sums);
#endif
}

/* --- the choice --- */

typedef void left_kernel(const struct left_job, uint4 *);
typedef void wide_kernel(const CUtensorMap, const struct wide_job);

static const struct wide_choice {
    uint32_t chunk;
    CUtensorMapDataType type; /* of the rounded operand; the TMA only copies its bits */
    left_kernel *left[2];     /* by whether the terms come first */
    wide_kernel *product[2];  /* by whether the right operand lies by terms */
} choices[] = {
    {wide_tf32::CHUNK,
     CU_TENSOR_MAP_DATA_TYPE_UINT32,
     {round_left<wide_tf32, false>, round_left<wide_tf32, true>},
     {multiply_wide<wide_tf32, false>, multiply_wide<wide_tf32, true>}},
    {wide_bf16::CHUNK,
     CU_TENSOR_MAP_DATA_TYPE_UINT16,
     {round_left<wide_bf16, false>, round_left<wide_bf16, true>},
     {multiply_wide<wide_bf16, false>, multiply_wide<wide_bf16, true>}},
    {wide_fp16::CHUNK,
     CU_TENSOR_MAP_DATA_TYPE_UINT16,
     {round_left<wide_fp16, false>, round_left<wide_fp16, true>},
     {multiply_wide<wide_fp16, false>, multiply_wide<wide_fp16, true>}},
};

/* Returns the driver's function, without linking the driver's library. */
static void *find_encoder(void)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                                12000, cudaEnableDefault, &result);
#else
    const cudaError_t status =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &result);
#endif
    return status == cudaSuccess && result == cudaDriverEntryPointSuccess ? function : NULL;
}

/* Returns whether the code for this GPU has the kernel, and allows it its shared memory. A kernel
 * without a body, whose code is not for sm_90a, has few registers, and this one its sums and more.
 */
static bool prepare_kernel(wide_kernel *kernel)
{
    struct cudaFuncAttributes attributes = {};
    return cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess &&
           attributes.binaryVersion == 90 && attributes.numRegs > WGMMA_SUMS &&
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                TILE_SHARED_BYTES) == cudaSuccess;
}

void cuda_wgmma_open(struct cuda_context *context)
{
    int major = 0, minor = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, context->ordinal);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, context->ordinal);
    bool there = major == 9 && minor == 0;
    for (const struct wide_choice &choice : choices)
        for (wide_kernel *kernel : choice.product)
            there = there && prepare_kernel(kernel);
    context->encode_tensor_map = there ? find_encoder() : NULL;
    context->refused_map_count = 0;
    cudaGetLastError();
}

static size_t tiles_of(size_t lines)
{
    return (lines + TILE_LINES - 1) / TILE_LINES;
}

/* Returns whether the driver has refused a left operand of this size. */
static bool is_refused(const struct cuda_context *context, const struct product *p)
{
    for (size_t i = 0; i < context->refused_map_count; i++)
        if (context->refused_maps[i].rows == p->m && context->refused_maps[i].terms == p->k)
            return true;
    return false;
}

static void note_refusal(struct cuda_context *context, const struct product *p)
{
    if (context->refused_map_count < CUDA_REFUSED_MAPS)
        context->refused_maps[context->refused_map_count++] = {p->m, p->k};
    else
        context->encode_tensor_map = NULL;
}

bool wgmma_takes(const struct cuda_context *context, const struct product *p)
{
    enum { LEAST_TERMS = 128 };
    if (!context || !context->encode_tensor_map || context->precision == CUDA_FLOAT32)
        return false;
    const bool fits =
        p->n % 4 == 0 && (p->b_transposed ? p->k % 4 == 0 && p->count == 1 : true) &&
        (p->count == 1 || (p->a_stride == 0 && p->b_stride % 4 == 0 && p->c_stride % 4 == 0));
    return fits && !is_refused(context, p) && p->k >= LEAST_TERMS && p->m >= TILE_LINES / 2 &&
           tiles_of(p->m) * tiles_of(p->n * p->count) >= multiprocessor_count() &&
           aligned16(p->b) && aligned16(p->c);
}

size_t wgmma_workspace(const struct cuda_context *context, const struct product *p)
{
    if (!wgmma_takes(context, p))
        return 0;
    const size_t chunk = choices[context->precision - CUDA_TF32].chunk;
    return p->m * ((p->k + chunk - 1) / chunk) * TILE_CHUNK_BYTES;
}

/* --- a product --- */

/* Makes the TMA's map of the rounded left operand: boxes of a stage's terms and 128 rows. Returns
 * false if the driver refuses it. */
static bool map_left(const struct cuda_context *context, const struct wide_choice *choice,
                     const struct product *p, void *workspace, CUtensorMap *map)
{
    const size_t chunks = (p->k + choice->chunk - 1) / choice->chunk;
    const cuuint64_t sizes[] = {chunks * choice->chunk, p->m};
    const cuuint64_t strides[] = {chunks * TILE_CHUNK_BYTES};
    const cuuint32_t box[] = {choice->chunk * TILE_CHUNKS, TILE_LINES}, steps[] = {1, 1};
    decltype(&cuTensorMapEncodeTiled) encode;
    *(void **)&encode = context->encode_tensor_map;
    return encode(map, choice->type, 2, workspace, sizes, strides, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

static void round_operand(struct cuda_context *context, const char *what,
                          const struct wide_choice *choice, const struct product *p,
                          void *workspace)
{
    const size_t chunks = (p->k + choice->chunk - 1) / choice->chunk;
    const struct left_job job = {p->a, (uint32_t)p->m, (uint32_t)p->k,
                                 divisor_of(p->a_transposed ? p->m : chunks),
                                 (uint32_t)(p->m * chunks)};
    launch(context, what, choice->left[p->a_transposed], stride_blocks(job.count), BLOCK, 0, job,
           (uint4 *)workspace);
}

bool wgmma_multiply(struct cuda_context *context, const char *what, const struct product *p,
                    void *workspace, size_t workspace_bytes)
{
    const size_t needed = wgmma_workspace(context, p);
    if (needed == 0 || !workspace || workspace_bytes < needed)
        return false;
    const struct wide_choice *choice = &choices[context->precision - CUDA_TF32];
    const struct wide_job job = {p->b,
                                 p->c,
                                 (uint32_t)p->m,
                                 (uint32_t)(p->n * p->count),
                                 (uint32_t)p->k,
                                 divisor_of(p->n),
                                 (uint32_t)p->b_stride,
                                 (uint32_t)p->c_stride,
                                 p->beta != 0.0f};
    CUtensorMap map = {};
    if (!map_left(context, choice, p, workspace, &map)) {
        note_refusal(context, p);
        return false;
    }
    product_begin(context, p);
    round_operand(context, what, choice, p, workspace);
    launch(context, what, choice->product[!p->b_transposed],
           (unsigned)(tiles_of(p->m) * tiles_of(job.columns)), TILE_THREADS, TILE_SHARED_BYTES, map,
           job);
    cuda_product_end(context);
    return true;
}
