/* tensor_tile.h: the tile of a matrix product that a block computes on the tensor cores. Only the
 * convolution kernels use it; conv_tile.h has the same in float32.
 *
 * A block computes ROWS x COLUMNS of the product and stages K indices of the sum at a time in
 * shared memory; a warp computes 16 x 8 of the tile with one instruction (mma.h). The operands are
 * float32 in global memory and are rounded on the way; sums are float32.
 *
 *   TF32       Values are copied to shared memory as they are, by asynchronous copies that are
 *              STAGES - 1 steps ahead, and are rounded when a warp has loaded its fragments.
 *   bfloat16,  A copy cannot round, so values go through registers: those of the next step are
 *   float16    loaded while this one is multiplied, and stored with 16 bits each.
 *
 * The left operand lies in shared memory row by row, with the terms of a row as neighbours, or term
 * by term (LEFT_BY_TERM). The right one lies column by column (RIGHT_BY_COLUMN), or term by term.
 * Lines are padded so that the
 * eight lines of an ldmatrix, and the 32 loads of a TF32 fragment, fall into different banks: an
 * odd multiple of 16 bytes, or eight words more than a multiple of 32.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_TENSOR_TILE_H
#define TINCA_ENGINE_DEVICES_CUDA_TENSOR_TILE_H

#include "engine/devices/cuda/launch.h"
#include "engine/devices/cuda/mma.h"

/* The threads of these kernels that a multiprocessor runs at once: each has 128 registers. */
enum { RESIDENT_THREADS = 512 };

/* DOWN x ACROSS warps. STAGES is the number of buffers for asynchronous copies. */
template <int ROWS_, int COLUMNS_, int DOWN_, int ACROSS_, int STAGES_> struct tensor_tile {
    enum {
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        K = 16,
        DOWN = DOWN_,
        ACROSS = ACROSS_,
        STAGES = STAGES_,
        THREADS = WARP * DOWN * ACROSS,
    };
};

/* --- types of operands --- */

/* HAS_CODE: the architecture that is compiled has the product. Where it has not, the kernel is
 * empty and is never launched (set_precision in module.cu). K: terms of one product. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
enum { CODE_IS_OLD = 1 };
#else
enum { CODE_IS_OLD = 0 };
#endif

struct operand_tf32 {
    typedef float stored;
    enum { K = 8, ASYNC = 1, HAS_CODE = !CODE_IS_OLD };
    static __device__ __forceinline__ uint32_t rounded(uint32_t word)
    {
        return round_tf32(word);
    }
    static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4],
                                                    const uint32_t b[2])
    {
        mma_tf32(d, a, b);
    }
};

/* The operands with 16 bits were rounded when they were stored. */
struct operand_bf16 {
    typedef uint16_t stored;
    enum { K = 16, ASYNC = 0, HAS_CODE = !CODE_IS_OLD };
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        return pack_bf16(low, high);
    }
    static __device__ __forceinline__ uint32_t rounded(uint32_t word)
    {
        return word;
    }
    static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4],
                                                    const uint32_t b[2])
    {
        mma_bf16(d, a, b);
    }
};

struct operand_fp16 {
    typedef uint16_t stored;
    enum { K = 16, ASYNC = 0, HAS_CODE = 1 };
    static __device__ __forceinline__ uint32_t pack(float low, float high)
    {
        return pack_fp16(low, high);
    }
    static __device__ __forceinline__ uint32_t rounded(uint32_t word)
    {
        return word;
    }
    static __device__ __forceinline__ void multiply(float d[4], const uint32_t a[4],
                                                    const uint32_t b[2])
    {
        mma_fp16(d, a, b);
    }
};

/* --- the products of a block --- */

enum { TABLE_STEPS = 16 }; /* steps for which a kernel prepares tables */

template <class T_, class O_, bool RIGHT_BY_COLUMN, bool LEFT_BY_TERM = false>
struct tensor_products {
    typedef T_ T;
    typedef O_ O;
    typedef typename O::stored stored;
    enum { STAGES = O::ASYNC ? (int)T::STAGES : 2 };
    enum { CHUNK = 16 / sizeof(stored) }; /* elements of 16 bytes: half of the terms of a product */
    enum { LINE = T::K + CHUNK };
    enum { LEFT_LINES = LEFT_BY_TERM ? (int)T::K : (int)T::ROWS };
    enum { LEFT_LINE = LEFT_BY_TERM ? T::ROWS + 8 : (int)LINE };
    enum { RIGHT_LINES = RIGHT_BY_COLUMN ? (int)T::COLUMNS : (int)T::K };
    enum { RIGHT_LINE = RIGHT_BY_COLUMN ? (int)LINE : T::COLUMNS + 8 };
    enum { ROWS = T::ROWS / T::DOWN, COLUMNS = T::COLUMNS / T::ACROSS }; /* per warp */
    enum { TILES_DOWN = ROWS / 16, TILES_ACROSS = COLUMNS / 8 };
    enum { COUNT = TILES_DOWN * TILES_ACROSS * 4 }; /* sums of a thread */
    static_assert(TILES_ACROSS % 2 == 0, "one ldmatrix loads two tiles of the right operand");

    struct alignas(16) memory {
        stored left[STAGES][LEFT_LINES][LEFT_LINE];
        stored right[STAGES][RIGHT_LINES][RIGHT_LINE];
    };
    struct sums {
        float of[TILES_DOWN][TILES_ACROSS][4];
    };

    static __device__ __forceinline__ int lane(void)
    {
        return (int)threadIdx.x % WARP;
    }
    static __device__ __forceinline__ int first_row(void)
    {
        return (int)threadIdx.x / WARP / T::ACROSS * ROWS;
    }
    static __device__ __forceinline__ int first_column(void)
    {
        return (int)threadIdx.x / WARP % T::ACROSS * COLUMNS;
    }

    static __device__ __forceinline__ void begin(struct sums *sums)
    {
#pragma unroll
        for (int i = 0; i < TILES_DOWN; i++)
#pragma unroll
            for (int j = 0; j < TILES_ACROSS; j++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sums->of[i][j][e] = 0;
    }

    /* Loads 16 rows of the left operand, from term k on. The four matrices of the ldmatrix are the
     * upper and the lower rows of the first half of the terms, and of the second. */
    static __device__ __forceinline__ void load_left(uint32_t a[4], const stored (*left)[LEFT_LINE],
                                                     int row, int k)
    {
        if constexpr (!LEFT_BY_TERM) {
            ldmatrix_x4(a, &left[row + lane() % 16][k + CHUNK * (lane() / 16)]);
        } else if constexpr (O::ASYNC) {
#pragma unroll
            for (int e = 0; e < 4; e++)
                a[e] = __float_as_uint(
                    left[k + lane() % 4 + 4 * (e / 2)][row + lane() / 4 + 8 * (e % 2)]);
        } else {
            ldmatrix_x4_transposed(
                a, &left[k + lane() % 8 + 8 * (lane() / 16)][row + 8 * (lane() / 8 % 2)]);
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            a[e] = O::rounded(a[e]);
    }

    /* Loads two tiles of 8 columns of the right operand, from term k on. */
    static __device__ __forceinline__ void
    load_right(uint32_t b[2][2], const stored (*right)[RIGHT_LINE], int column, int k)
    {
        uint32_t words[4];
        if constexpr (RIGHT_BY_COLUMN) {
            ldmatrix_x4(
                words,
                &right[column + lane() % 8 + 8 * (lane() / 16)][k + CHUNK * (lane() / 8 % 2)]);
        } else if constexpr (O::ASYNC) {
#pragma unroll
            for (int e = 0; e < 4; e++)
                words[e] = __float_as_uint(
                    right[k + lane() % 4 + 4 * (e % 2)][column + lane() / 4 + 8 * (e / 2)]);
        } else {
            ldmatrix_x4_transposed(
                words, &right[k + lane() % 8 + 8 * (lane() / 8 % 2)][column + 8 * (lane() / 16)]);
        }
#pragma unroll
        for (int e = 0; e < 4; e++)
            b[e / 2][e % 2] = O::rounded(words[e]);
    }

    /* Adds left * right to the sums, over the K terms of a stage. */
    static __device__ __forceinline__ void add(struct sums *sums, const struct memory *memory,
                                               int stage)
    {
#pragma unroll
        for (int k = 0; k < T::K; k += O::K) {
            uint32_t b[TILES_ACROSS][2];
#pragma unroll
            for (int j = 0; j < TILES_ACROSS; j += 2)
                load_right(&b[j], memory->right[stage], first_column() + 8 * j, k);
#pragma unroll
            for (int i = 0; i < TILES_DOWN; i++) {
                uint32_t a[4];
                load_left(a, memory->left[stage], first_row() + 16 * i, k);
#pragma unroll
                for (int j = 0; j < TILES_ACROSS; j++)
                    O::multiply(sums->of[i][j], a, b[j]);
            }
        }
    }

    /* Calls result(row, column, sum) for each of the thread's sums, column by column. */
    template <class F> static __device__ __forceinline__ void end(const struct sums *sums, F result)
    {
#pragma unroll
        for (int j = 0; j < TILES_ACROSS; j++)
#pragma unroll
            for (int e = 0; e < 2; e++)
#pragma unroll
                for (int i = 0; i < TILES_DOWN; i++)
#pragma unroll
                    for (int half = 0; half < 2; half++)
                        result(first_row() + 16 * i + 8 * half + lane() / 4,
                               first_column() + 8 * j + 2 * (lane() % 4) + e,
                               sums->of[i][j][2 * half + e]);
    }

    /* Adds the products of `steps` times K terms. fill(step) prepares tables for the next
     * TABLE_STEPS steps, with all threads, while none is in `load`. load(step, stage) begins to
     * load the terms of a step. put(stage) stores in shared memory what `load` has brought to
     * registers, unless copies are asynchronous. The loops over the steps contain nothing else. */
    template <class FILL, class LOAD, class PUT>
    static __device__ __forceinline__ void run(struct sums *sums, const struct memory *memory,
                                               uint32_t steps, FILL fill, LOAD load, PUT put)
    {
        begin(sums);
        if (steps == 0)
            return;
        fill(0);
        if constexpr (O::ASYNC)
            run_async(sums, memory, steps, fill, load);
        else
            run_staged(sums, memory, steps, fill, load, put);
    }

    static __device__ __forceinline__ uint32_t end_of_table(uint32_t step, uint32_t steps)
    {
        return min(steps, step / TABLE_STEPS * TABLE_STEPS + TABLE_STEPS);
    }

    template <class FILL, class LOAD>
    static __device__ __forceinline__ void run_async(struct sums *sums, const struct memory *memory,
                                                     uint32_t steps, FILL fill, LOAD load)
    {
        int full = 0, free = STAGES - 1;
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if ((uint32_t)s < steps)
                load((uint32_t)s, s);
            cp_async_commit();
        }
        for (uint32_t step = STAGES - 1; step < steps;) {
            if (step % TABLE_STEPS == 0) {
                __syncthreads();
                fill(step);
            }
            for (const uint32_t end = end_of_table(step, steps); step < end; step++) {
                cp_async_wait<STAGES - 2>();
                __syncthreads(); /* a stage has arrived, and all have multiplied the one before */
                load(step, free);
                cp_async_commit();
                add(sums, memory, full);
                full = full + 1 == STAGES ? 0 : full + 1;
                free = free + 1 == STAGES ? 0 : free + 1;
            }
        }
        cp_async_wait<0>();
        __syncthreads();
#pragma unroll 1
        for (uint32_t step = steps < STAGES - 1 ? 0 : steps - (STAGES - 1); step < steps; step++) {
            add(sums, memory, full);
            full = full + 1 == STAGES ? 0 : full + 1;
        }
    }

    template <class FILL, class LOAD, class PUT>
    static __device__ __forceinline__ void run_staged(struct sums *sums,
                                                      const struct memory *memory, uint32_t steps,
                                                      FILL fill, LOAD load, PUT put)
    {
        load(0, 0);
        put(0);
        __syncthreads();
        for (uint32_t step = 1; step < steps;) {
            if (step % TABLE_STEPS == 0)
                fill(step);
            for (const uint32_t end = end_of_table(step, steps); step < end; step++) {
                load(step, (int)step % 2);
                add(sums, memory, (int)(step - 1) % 2);
                put((int)step % 2);
                __syncthreads();
            }
        }
        add(sums, memory, (int)(steps - 1) % 2);
    }
};

/* The tiles of all kernels. Three stages of the large one would exceed 48 KiB. */
typedef tensor_tile<128, 128, 2, 4, 2> large_tensor_tile;
typedef tensor_tile<64, 64, 2, 2, 3> small_tensor_tile;
/* These tiles are for few channels of channels-last arrays: conv_tile.h has the same sizes. */
typedef tensor_tile<32, 128, 1, 4, 3> low_tensor_tile;
typedef tensor_tile<32, 64, 1, 4, 3> low_weights_tile;

/* --- loading --- */

/* Stores SIZE rounded values, 2 or 4, as neighbours in shared memory. */
template <class O, int SIZE>
static __device__ __forceinline__ void put_rounded(uint16_t *to, const float values[SIZE])
{
    static_assert(SIZE == 2 || SIZE == 4, "whole words");
    if constexpr (SIZE == 2)
        *(uint32_t *)to = O::pack(values[0], values[1]);
    else
        *(uint2 *)to = make_uint2(O::pack(values[0], values[1]), O::pack(values[2], values[3]));
}

/* Stores the values that a thread has loaded of a side of the product in one stage: COUNT groups of
 * SIZE values, in every STEP-th line from `line` on. */
template <class O, int STEP, class SIDE, int COUNT, int SIZE>
static __device__ __forceinline__ void put_side(SIDE &side, int line, int place,
                                                const float (&values)[COUNT][SIZE])
{
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        put_rounded<O, SIZE>(&side[line + k * STEP][place], values[k]);
}

/* Begins to load SIZE values: 4 that are neighbours, from from[0] on, if there[0] is set, or each
 * from[i] for which there[i] is set; the others are 0. With asynchronous copies they go to `to`,
 * otherwise to `values`. */
template <class O, int SIZE, bool WIDE>
static __device__ __forceinline__ void load_values(typename O::stored *to, float values[SIZE],
                                                   const float *const from[], const bool there[])
{
    if constexpr (WIDE && O::ASYNC) {
        cp_async_16(to, from[0], there[0]);
    } else if constexpr (WIDE) {
        const float4 four =
            there[0] ? __ldg((const float4 *)from[0]) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        values[0] = four.x;
        values[1] = four.y;
        values[2] = four.z;
        values[3] = four.w;
    } else if constexpr (O::ASYNC) {
        cp_async_4(to, from[0], there[0]);
    } else {
#pragma unroll
        for (int i = 0; i < SIZE; i++)
            values[i] = there[i] ? __ldg(from[i]) : 0.0f;
    }
}

#endif
