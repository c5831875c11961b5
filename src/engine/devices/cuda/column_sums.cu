/* The sums of the channels of channels-last values, which are the columns of a matrix: the gradient
 * of a bias. The backward pass of a fused relu reads and writes all gradients, so the same pass
 * adds them. A block sums 32 columns of its part of the rows, a thread four of them, 16 bytes at a
 * time, where they are aligned; another launch adds the parts. */
#include "engine/devices/cuda/implicit_gemm.h"

#include <algorithm>

enum { COLUMNS = 32, ROWS_OF_A_PART = 512 };

/* V values of a row, which a thread reads at once. */
template <int V> struct row_vector {
    float of[V];
};

static __device__ __forceinline__ void load(const float *at, struct row_vector<1> *vector)
{
    vector->of[0] = *at;
}
static __device__ __forceinline__ void load(const float *at, struct row_vector<4> *vector)
{
    const float4 four = *(const float4 *)at;
    vector->of[0] = four.x;
    vector->of[1] = four.y;
    vector->of[2] = four.z;
    vector->of[3] = four.w;
}
static __device__ __forceinline__ void store(float *at, const struct row_vector<1> *vector)
{
    *at = vector->of[0];
}
static __device__ __forceinline__ void store(float *at, const struct row_vector<4> *vector)
{
    *(float4 *)at = make_float4(vector->of[0], vector->of[1], vector->of[2], vector->of[3]);
}

/* Adds rows begin, begin + step, ... below `end` of the columns from `values` on. With MASKS,
 * values are first set to 0 where `outputs`, the outputs of a relu, are not above 0. */
template <int V, bool MASKS>
static __device__ __forceinline__ void add_rows(float *values, const float *outputs,
                                                uint32_t channels, uint32_t begin, uint32_t end,
                                                uint32_t step, struct row_vector<V> *sums)
{
#pragma unroll 4
    for (uint32_t r = begin; r < end; r += step) {
        struct row_vector<V> g, y;
        load(values + (size_t)r * channels, &g);
        if (MASKS) {
            load(outputs + (size_t)r * channels, &y);
#pragma unroll
            for (int v = 0; v < V; v++)
                g.of[v] = y.of[v] > 0 ? g.of[v] : 0;
            store(values + (size_t)r * channels, &g);
        }
#pragma unroll
        for (int v = 0; v < V; v++)
            sums->of[v] += g.of[v];
    }
}

template <int V, bool MASKS>
static __global__ void __launch_bounds__(BLOCK)
    add_columns(float *values, const float *outputs, uint32_t rows, uint32_t channels,
                uint32_t part_rows, float *parts)
{
    enum { ACROSS = COLUMNS / V, DOWN = BLOCK / ACROSS };
    __shared__ float of_rows[DOWN][COLUMNS];
    const uint32_t across = threadIdx.x % ACROSS * V, down = threadIdx.x / ACROSS;
    const uint32_t first = blockIdx.x * COLUMNS, column = first + across;
    const uint32_t begin = blockIdx.y * part_rows, end = min(begin + part_rows, rows);
    struct row_vector<V> sums;
#pragma unroll
    for (int v = 0; v < V; v++)
        sums.of[v] = 0;
    if (column < channels)
        add_rows<V, MASKS>(values + column, MASKS ? outputs + column : NULL, channels, begin + down,
                           end, DOWN, &sums);
#pragma unroll
    for (int v = 0; v < V; v++)
        of_rows[down][across + v] = sums.of[v];
    __syncthreads();
    if (threadIdx.x >= COLUMNS || first + threadIdx.x >= channels)
        return;
    float sum = 0;
    for (int d = 0; d < DOWN; d++)
        sum += of_rows[d][threadIdx.x];
    parts[blockIdx.y * channels + first + threadIdx.x] = sum;
}

/* Returns the most parts of the rows: with the groups of columns, four blocks for each
 * multiprocessor. */
static size_t most_parts(size_t channels)
{
    return blocks_for(4 * multiprocessor_count(), blocks_for(channels, COLUMNS));
}

size_t sum_channels_last_workspace(size_t channels)
{
    return most_parts(channels) * channels * sizeof(float);
}

/* Queues the sums; `outputs` may be NULL. The values are written only if it is not. */
static void queue_sums(struct cuda_context *context, const char *what, float *values,
                       const float *outputs, size_t rows, size_t channels, float *workspace,
                       float *sums)
{
    const size_t wanted = std::min((size_t)blocks_for(rows, ROWS_OF_A_PART), most_parts(channels));
    const size_t part_rows = blocks_for(rows, wanted), parts = blocks_for(rows, part_rows);
    const bool wide = channels % 4 == 0 && aligned16(values) && aligned16(outputs);
    launch(context, what,
           outputs ? (wide ? add_columns<4, true> : add_columns<1, true>)
                   : (wide ? add_columns<4, false> : add_columns<1, false>),
           dim3(blocks_for(channels, COLUMNS), (unsigned)parts), BLOCK, 0, values, outputs,
           (uint32_t)rows, (uint32_t)channels, (uint32_t)part_rows, parts > 1 ? workspace : sums);
    if (parts > 1)
        sum_parts(context, what, workspace, parts, channels, 1, sums, NULL);
}

void sum_channels_last(struct cuda_context *context, const char *what, const float *values,
                       size_t rows, size_t channels, float *workspace, float *sums)
{
    queue_sums(context, what, (float *)values, NULL, rows, channels, workspace, sums);
}

void mask_and_sum_channels_last(struct cuda_context *context, const char *what, float *values,
                                const float *outputs, size_t rows, size_t channels,
                                float *workspace, float *sums)
{
    queue_sums(context, what, values, outputs, rows, channels, workspace, sums);
}
