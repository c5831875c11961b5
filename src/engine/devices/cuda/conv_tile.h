/* conv_tile.h: the tile of a matrix product that a block computes in float32. Only the convolution
 * kernels use it; tensor_tile.h has the same for tensor cores.
 *
 * A block computes ROWS x COLUMNS of the product and stages K indices of the sum at a time in
 * shared memory, which the kernels that use a tile fill. A thread accumulates SIDE x SIDE of the
 * tile, in squares of four so that it reads shared memory 16 bytes at a time.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H

#include "engine/devices/cuda/launch.h"

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

#endif
