/* conv_tile.h: a block's tile of a matrix product in float32. Not for use outside this room.
 *
 * ROWS x COLUMNS of the product to a block, TERMS of the sums at a time from shared memory; SIDE x
 * SIDE of it to a thread, in squares of four so that shared memory is read 16 bytes at a time. What
 * the matrices are is the business of those who fill the memory.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_TILE_H

#include <cuda_runtime.h>

template <int ROWS_, int COLUMNS_, int TERMS_, int SIDE_> struct tile {
    enum {
        ROWS = ROWS_,
        COLUMNS = COLUMNS_,
        TERMS = TERMS_,
        SIDE = SIDE_,
        THREADS = ROWS * COLUMNS / (SIDE * SIDE),
        THREADS_ACROSS = COLUMNS / SIDE,
        SQUARES = SIDE / 4,
        OF_A_TERM = THREADS / TERMS, /* threads that bring values of the same term */
        WEIGHTS = ROWS / OF_A_TERM,  /* of the left side, that a thread brings for each step */
        VALUES = COLUMNS / OF_A_TERM,
        PAD = 4 /* floats: another term is in other banks */
    };
    static_assert(ROWS % OF_A_TERM == 0 && COLUMNS % OF_A_TERM == 0, "a thread brings all or none");
    /* Two of each: one is multiplied while the other is filled. */
    struct alignas(16) memory {
        float left[2][TERMS][ROWS + PAD];
        float right[2][TERMS][COLUMNS + PAD];
    };
};

/* The row and the column of a thread's sum (i, j). */
template <class T> static __device__ __forceinline__ int tile_row(int i)
{
    return i / 4 * (T::ROWS / T::SQUARES) + 4 * ((int)threadIdx.x / T::THREADS_ACROSS) + i % 4;
}
template <class T> static __device__ __forceinline__ int tile_column(int j)
{
    return j / 4 * (T::COLUMNS / T::SQUARES) + 4 * ((int)threadIdx.x % T::THREADS_ACROSS) + j % 4;
}

/* Four numbers of each square of a thread's rows or columns. */
template <class T, int SIZE>
static __device__ __forceinline__ void tile_take(const float *line, int thread, float *out)
{
#pragma unroll
    for (int s = 0; s < T::SQUARES; s++) {
        const float4 four = *(const float4 *)&line[s * (SIZE / T::SQUARES) + 4 * thread];
        out[4 * s] = four.x;
        out[4 * s + 1] = four.y;
        out[4 * s + 2] = four.z;
        out[4 * s + 3] = four.w;
    }
}

/* sums += left * right, over the TERMS that lie in `buffer`. */
template <class T>
static __device__ __forceinline__ void tile_add(const typename T::memory *memory, int buffer,
                                                float sums[T::SIDE][T::SIDE])
{
#pragma unroll
    for (int t = 0; t < T::TERMS; t++) {
        float a[T::SIDE], b[T::SIDE];
        tile_take<T, T::ROWS>(memory->left[buffer][t], (int)threadIdx.x / T::THREADS_ACROSS, a);
        tile_take<T, T::COLUMNS>(memory->right[buffer][t], (int)threadIdx.x % T::THREADS_ACROSS, b);
#pragma unroll
        for (int i = 0; i < T::SIDE; i++)
#pragma unroll
            for (int j = 0; j < T::SIDE; j++)
                sums[i][j] += a[i] * b[j];
    }
}

#endif
