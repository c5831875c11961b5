/* conv_tile.h: the tile of a matrix product that a block computes. Only the convolution kernels use
 * it.
 *
 * A block computes ROWS x COLUMNS of the product and stages K indices of the sum at a time in
 * shared memory. The kernels that use a tile fill the memory; one of two classes multiplies and
 * adds:
 *
 *   plain_products    in float32: a thread accumulates SIDE x SIDE of the tile, in squares of four
 *                     so that it reads shared memory 16 bytes at a time
 *   tensor_products   on the tensor cores, from values rounded to `E` and added in float32: a warp
 *                     computes 16 x 16 of the tile at a time
 *
 * Both have the same members: the shared memory, a thread's sums, and the functions that begin, add
 * to and store the sums.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H

#include "engine/devices/cuda/launch.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

template <int ROWS_, int COLUMNS_, int K_, int SIDE_> struct tile {
    enum {
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        K = K_,
        SIDE = SIDE_,
        THREADS = ROWS * COLUMNS / (SIDE * SIDE),
        THREADS_PER_K = THREADS / K, /* threads that load values of the same k */
        WEIGHTS =
            ROWS / THREADS_PER_K, /* values of the left side that a thread loads in each step */
        VALUES = COLUMNS / THREADS_PER_K,
    };
    static_assert(ROWS % THREADS_PER_K == 0 && COLUMNS % THREADS_PER_K == 0,
                  "every thread loads the same number of values");
};

/* Shared memory, with two buffers for each side: one is multiplied while the other is filled. PAD
 * puts successive terms into different banks. */
template <class T, class E, int PAD> struct tile_memory {
    E left[2][T::K][T::ROWS + PAD];
    E right[2][T::K][T::COLUMNS + PAD];
};

/* --- in float32 --- */

template <class T_> struct plain_products {
    typedef T_ T;
    enum { ACROSS = T::COLUMNS / T::SIDE, SQUARES = T::SIDE / 4 };
    enum { BLOCKS = T::SIDE > 4 ? 2 : 3 }; /* per multiprocessor; their registers allow so many */
    struct alignas(16) memory : tile_memory<T, float, 4> {
    };
    struct sums {
        float of[T::SIDE][T::SIDE];
    };

    static __device__ __forceinline__ float convert(float value)
    {
        return value;
    }

    static __device__ __forceinline__ void begin(struct sums *sums)
    {
#pragma unroll
        for (int i = 0; i < T::SIDE; i++)
#pragma unroll
            for (int j = 0; j < T::SIDE; j++)
                sums->of[i][j] = 0;
    }

    /* Loads the four numbers of each square of a thread's rows or columns. */
    template <int SIZE>
    static __device__ __forceinline__ void take(const float *line, int thread, float *out)
    {
#pragma unroll
        for (int s = 0; s < SQUARES; s++) {
            const float4 four = *(const float4 *)&line[s * (SIZE / SQUARES) + 4 * thread];
            out[4 * s] = four.x;
            out[4 * s + 1] = four.y;
            out[4 * s + 2] = four.z;
            out[4 * s + 3] = four.w;
        }
    }

    /* Adds left * right to the sums, over the K in `buffer`. */
    static __device__ __forceinline__ void add(struct sums *sums, const struct memory *memory,
                                               int buffer)
    {
#pragma unroll
        for (int t = 0; t < T::K; t++) {
            float a[T::SIDE], b[T::SIDE];
            take<T::ROWS>(memory->left[buffer][t], (int)threadIdx.x / ACROSS, a);
            take<T::COLUMNS>(memory->right[buffer][t], (int)threadIdx.x % ACROSS, b);
#pragma unroll
            for (int i = 0; i < T::SIDE; i++)
#pragma unroll
                for (int j = 0; j < T::SIDE; j++)
                    sums->of[i][j] += a[i] * b[j];
        }
    }

    /* Calls result(row, column, sum) for each of the thread's sums. */
    template <class F>
    static __device__ __forceinline__ void end(const struct sums *sums, struct memory *, F result)
    {
#pragma unroll
        for (int j = 0; j < T::SIDE; j++)
#pragma unroll
            for (int i = 0; i < T::SIDE; i++)
                result(i / 4 * (T::ROWS / SQUARES) + 4 * ((int)threadIdx.x / ACROSS) + i % 4,
                       j / 4 * (T::COLUMNS / SQUARES) + 4 * ((int)threadIdx.x % ACROSS) + j % 4,
                       sums->of[i][j]);
    }
};

/* --- by tensor cores --- */

/* The type and the number of terms of a tensor core's product, for values rounded to TF32 (float32
 * with 10 bits of mantissa), bfloat16 and float16. */
template <class E> struct tensor_type;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
template <> struct tensor_type<float> {
    typedef nvcuda::wmma::precision::tf32 type;
    enum { K = 8 };
    static __device__ __forceinline__ float convert(float value)
    {
        return nvcuda::wmma::__float_to_tf32(value);
    }
};
template <> struct tensor_type<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    enum { K = 16 };
    static __device__ __forceinline__ __nv_bfloat16 convert(float value)
    {
        return __float2bfloat16(value);
    }
};
template <> struct tensor_type<__half> {
    typedef __half type;
    enum { K = 16 };
    static __device__ __forceinline__ __half convert(float value)
    {
        return __float2half(value);
    }
};

/* Eight warps, four over the rows and two over the columns. */
template <class T_, class E> struct tensor_products {
    typedef T_ T;
    typedef tensor_type<E> type;
    enum { SQUARE = 16, ACROSS = 2, WARPS = 8, BLOCKS = 1 };
    enum { ROWS = T::ROWS / (WARPS / ACROSS), COLUMNS = T::COLUMNS / ACROSS }; /* per warp */
    enum { SQUARES_DOWN = ROWS / SQUARE, SQUARES_ACROSS = COLUMNS / SQUARE };
    enum { PAD = 32 / sizeof(E) }; /* every line begins at a multiple of 32 bytes */
    struct alignas(32) memory : tile_memory<T, E, PAD> {
        alignas(32) float results[WARPS][SQUARE * SQUARE];
    };
    struct sums {
        nvcuda::wmma::fragment<nvcuda::wmma::accumulator, SQUARE, SQUARE, type::K, float>
            of[SQUARES_DOWN][SQUARES_ACROSS];
    };

    static __device__ __forceinline__ E convert(float value)
    {
        return type::convert(value);
    }

    static __device__ __forceinline__ int first_row(void)
    {
        return (int)threadIdx.x / WARP / ACROSS * ROWS;
    }
    static __device__ __forceinline__ int first_column(void)
    {
        return (int)threadIdx.x / WARP % ACROSS * COLUMNS;
    }

    static __device__ __forceinline__ void begin(struct sums *sums)
    {
#pragma unroll
        for (int i = 0; i < SQUARES_DOWN; i++)
#pragma unroll
            for (int j = 0; j < SQUARES_ACROSS; j++)
                nvcuda::wmma::fill_fragment(sums->of[i][j], 0.0f);
    }

    static __device__ __forceinline__ void add(struct sums *sums, const struct memory *memory,
                                               int buffer)
    {
        using namespace nvcuda::wmma;
        fragment<matrix_a, SQUARE, SQUARE, type::K, typename type::type, col_major> left;
        fragment<matrix_b, SQUARE, SQUARE, type::K, typename type::type, row_major>
            right[SQUARES_ACROSS];
#pragma unroll
        for (int t = 0; t < T::K; t += type::K) {
#pragma unroll
            for (int j = 0; j < SQUARES_ACROSS; j++)
                load_matrix_sync(right[j], &memory->right[buffer][t][first_column() + SQUARE * j],
                                 T::COLUMNS + PAD);
#pragma unroll
            for (int i = 0; i < SQUARES_DOWN; i++) {
                load_matrix_sync(left, &memory->left[buffer][t][first_row() + SQUARE * i],
                                 T::ROWS + PAD);
#pragma unroll
                for (int j = 0; j < SQUARES_ACROSS; j++)
                    mma_sync(sums->of[i][j], left, right[j], sums->of[i][j]);
            }
        }
    }

    /* Calls result(row, column, sum) a square at a time, through the warp's part of shared memory,
     * because CUDA does not define which lane has which element. */
    template <class F>
    static __device__ __forceinline__ void end(const struct sums *sums, struct memory *memory,
                                               F result)
    {
        float *square = memory->results[threadIdx.x / WARP];
#pragma unroll
        for (int i = 0; i < SQUARES_DOWN; i++)
#pragma unroll
            for (int j = 0; j < SQUARES_ACROSS; j++) {
                nvcuda::wmma::store_matrix_sync(square, sums->of[i][j], SQUARE,
                                                nvcuda::wmma::mem_row_major);
                __syncwarp();
                for (int k = (int)threadIdx.x % WARP; k < SQUARE * SQUARE; k += WARP)
                    result(first_row() + SQUARE * i + k / SQUARE,
                           first_column() + SQUARE * j + k % SQUARE, square[k]);
                __syncwarp();
            }
    }
};
#else
/* The precision of older code stays float32 (cuda_context.code_version), so these functions never
 * run. */
template <class T_, class E> struct tensor_products {
    typedef T_ T;
    enum { BLOCKS = 1 };
    struct memory : tile_memory<T, float, 4> {
    };
    struct sums {
    };
    static __device__ float convert(float value)
    {
        return value;
    }
    static __device__ void begin(struct sums *)
    {
    }
    static __device__ void add(struct sums *, const struct memory *, int)
    {
    }
    template <class F> static __device__ void end(const struct sums *, struct memory *, F)
    {
    }
};
#endif

#endif
