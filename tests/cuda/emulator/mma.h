/* mma.h of the emulator: the first lane of a warp holds a whole fragment and does the warp's work
 * alone; barriers around it keep the other lanes in step. */
#ifndef TINCA_TESTS_MMA_H
#define TINCA_TESTS_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda
{
namespace wmma
{
struct matrix_a {
};
struct matrix_b {
};
struct accumulator {
};
struct row_major {
};
struct col_major {
};
enum layout_t { mem_row_major, mem_col_major };
namespace precision
{
struct tf32 {
};
} // namespace precision

static inline float __float_to_tf32(float value)
{
    return emulator_round(value, 10);
}

/* x[row][column], of m x k, k x n or m x n elements. */
template <class USE, int M, int N, int K, class TYPE, class LAYOUT = void> struct fragment {
    float x[16][16];
};

static inline bool first_lane(void)
{
    return threadIdx.x % warpSize == 0;
}

template <class F> static inline void fill_fragment(F &f, float value)
{
    if (first_lane())
        for (auto &row : f.x)
            for (float &x : row)
                x = value;
}

template <int M, int N, int K, class TYPE, class E>
static inline void load_matrix_sync(fragment<matrix_a, M, N, K, TYPE, col_major> &f, const E *from,
                                    unsigned apart)
{
    if (first_lane())
        for (int m = 0; m < M; m++)
            for (int k = 0; k < K; k++)
                f.x[m][k] = emulator_value(from[k * apart + m]);
}

template <int M, int N, int K, class TYPE, class E>
static inline void load_matrix_sync(fragment<matrix_b, M, N, K, TYPE, row_major> &f, const E *from,
                                    unsigned apart)
{
    if (first_lane())
        for (int k = 0; k < K; k++)
            for (int n = 0; n < N; n++)
                f.x[k][n] = emulator_value(from[k * apart + n]);
}

template <int M, int N, int K, class TYPE, class LEFT, class RIGHT>
static inline void mma_sync(fragment<accumulator, M, N, K, float> &d,
                            const fragment<matrix_a, M, N, K, TYPE, LEFT> &a,
                            const fragment<matrix_b, M, N, K, TYPE, RIGHT> &b,
                            const fragment<accumulator, M, N, K, float> &c)
{
    if (first_lane())
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++) {
                float sum = c.x[m][n];
                for (int k = 0; k < K; k++)
                    sum += a.x[m][k] * b.x[k][n];
                d.x[m][n] = sum;
            }
}

template <int M, int N, int K>
static inline void store_matrix_sync(float *to, const fragment<accumulator, M, N, K, float> &f,
                                     unsigned apart, layout_t layout)
{
    if (first_lane())
        for (int m = 0; m < M; m++)
            for (int n = 0; n < N; n++)
                to[layout == mem_row_major ? m * apart + n : n * apart + m] = f.x[m][n];
}
} // namespace wmma
} // namespace nvcuda

#endif
