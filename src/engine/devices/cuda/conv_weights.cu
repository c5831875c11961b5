/* The gradients of a convolution's weights, as an implicit GEMM with the operands of the forward
 * pass (implicit_gemm.h), but summed over positions:
 *
 *   weights[row, term] = sum over positions p of small[row, p] * large[value that term reads at p]
 *
 * A row is an output channel, and a term is an input channel and a tap of the window. A block
 * computes a tile of rows x terms. There are few tiles and many positions, so the sum is divided
 * into parts (split K) with a block for each, and a second launch adds the parts in order. One more
 * term, whose value is always 1, gives the gradient of the bias. Products below float32 are in
 * conv_weights_tensor.cu, those of few channels in conv_weights_direct.cu.
 */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/conv_tile.h"
#include "engine/devices/cuda/reduce.h"

#include <algorithm>

#include <assert.h>

enum { LEAST_OF_A_PART = 128 };

/* Returns the number of parts with the shortest time, which is the number of waves in which the GPU
 * runs the blocks of all parts; it tries numbers of parts within two waves. */
size_t split_count(size_t blocks, size_t positions, size_t resident)
{
    const size_t most = (positions + LEAST_OF_A_PART - 1) / LEAST_OF_A_PART;
    const size_t two_waves = 2 * resident / blocks;
    size_t best = 1, best_waves = (blocks + resident - 1) / resident;
    for (size_t parts = 2; parts <= most && parts <= two_waves; parts++) {
        const size_t waves = (blocks * parts + resident - 1) / resident;
        if (waves * best < best_waves * parts) {
            best = parts;
            best_waves = waves;
        }
    }
    return best;
}

template <class T> struct weights_load {
    int position, first; /* position within a step; first row and term that this thread loads */
    struct gemm_term terms[T::VALUES];
    float rows[T::WEIGHTS], values[T::VALUES];
};

template <class T>
static __device__ __forceinline__ void
load_begin(struct weights_load<T> *load, const struct implicit_gemm *w,
           const struct gemm_block *block, uint32_t first_term)
{
    load->position = (int)threadIdx.x % T::K;
    load->first = (int)threadIdx.x / T::K;
#pragma unroll
    for (int v = 0; v < T::VALUES; v++) {
        const uint32_t term = first_term + load->first + v * T::THREADS_PER_K;
        load->terms[v] = gemm_term_of(w, block, term < block->terms ? term : 0);
    }
}

template <class T, bool MOVED>
static __device__ __forceinline__ void
load_values(struct weights_load<T> *load, const struct implicit_gemm *w,
            const struct gemm_block *block, const float *small, const float *large,
            uint32_t first_row, uint32_t first_term, uint32_t first_position, uint32_t end)
{
    const uint32_t position = first_position + load->position;
    const bool inside = position < end;
    const struct gemm_column column = gemm_column_of(w, block, inside ? position : 0);
    const uint32_t area = (uint32_t)(w->down.target_size * w->across.target_size);
    const uint32_t at_position =
        (uint32_t)(column.ty * w->across.target_size + column.tx) * w->target_by_position;
    const float *rows = small + (size_t)column.image * w->groups * w->rows * area +
                        block->group * w->rows * w->target_by_channel + at_position;
    const float *image = large + (size_t)column.image * w->groups * w->channels *
                                     (uint32_t)(w->down.source_size * w->across.source_size);
#pragma unroll
    for (int k = 0; k < T::WEIGHTS; k++) {
        const uint32_t row = first_row + load->first + k * T::THREADS_PER_K;
        load->rows[k] = inside && row < w->rows ? __ldg(&rows[row * w->target_by_channel]) : 0.0f;
    }
#pragma unroll
    for (int v = 0; v < T::VALUES; v++) {
        const uint32_t term = first_term + load->first + v * T::THREADS_PER_K;
        const int at = gemm_source_index<MOVED>(w, block, &column, &load->terms[v]);
        const bool there = inside && at >= 0 && term < block->terms;
        load->values[v] = there ? __ldg(&image[at]) : term == block->terms ? 1.0f : 0.0f;
    }
}

template <class A>
static __device__ __forceinline__ void
store_to_shared(const struct weights_load<typename A::T> *load, typename A::memory *memory,
                int buffer)
{
    typedef typename A::T T;
#pragma unroll
    for (int k = 0; k < T::WEIGHTS; k++)
        memory->left[buffer][load->position][load->first + k * T::THREADS_PER_K] =
            A::convert(load->rows[k]);
#pragma unroll
    for (int v = 0; v < T::VALUES; v++)
        memory->right[buffer][load->position][load->first + v * T::THREADS_PER_K] =
            A::convert(load->values[v]);
}

template <class A, bool MOVED>
static __global__ void __launch_bounds__(A::T::THREADS, A::BLOCKS)
    add_weights(const __grid_constant__ struct implicit_gemm w, const float *small,
                const float *large, const struct weights_job job)
{
    typedef typename A::T T;
    __shared__ typename A::memory memory;
    const uint32_t part = blockIdx.z % job.parts;
    const struct gemm_block block = gemm_block_of(&w, blockIdx.z / job.parts);
    const uint32_t first_row = blockIdx.y * T::ROWS, first_term = blockIdx.x * T::COLUMNS;
    const uint32_t begin = part * job.part_positions;
    const uint32_t end = min(begin + job.part_positions, job.positions);
    typename A::sums sums;
    struct weights_load<T> load;
    A::begin(&sums);
    load_begin<T>(&load, &w, &block, first_term);
    load_values<T, MOVED>(&load, &w, &block, small, large, first_row, first_term, begin, end);
    store_to_shared<A>(&load, &memory, 0);
    __syncthreads();
    int buffer = 0;
    for (uint32_t next = begin + T::K; next < end + T::K; next += T::K) {
        if (next < end)
            load_values<T, MOVED>(&load, &w, &block, small, large, first_row, first_term, next,
                                  end);
        A::add(&sums, &memory, buffer);
        buffer ^= 1;
        if (next < end)
            store_to_shared<A>(&load, &memory, buffer);
        __syncthreads();
    }
    A::end(&sums, &memory, [&](int row, int term, float sum) {
        if (first_row + row < w.rows && first_term + term < job.columns)
            weights_store(&job, w.groups * w.rows, part, block.group * w.rows + first_row + row,
                          first_term + term, sum);
    });
}

/* --- sums of parts --- */

enum { PART_GROUPS = BLOCK_WARPS, MANY_PARTS = 4 * PART_GROUPS };

/* Stores sum `i` of all rows. */
static __device__ __forceinline__ void store_sum(uint32_t i, struct divisor columns, uint32_t terms,
                                                 float sum, float *weights, float *bias)
{
    uint32_t term;
    const uint32_t row = divide_rest(i, columns, &term);
    if (term == terms)
        bias[row] = sum;
    else if (weights)
        weights[(size_t)row * terms + term] = sum;
}

static __global__ void add_parts(const float *parts, uint32_t count, struct divisor columns,
                                 uint32_t terms, uint32_t sums, float *weights, float *bias)
{
    for (uint32_t i = stride_first(); i < sums; i += stride_step()) {
        float sum = 0;
#pragma unroll 8
        for (uint32_t part = 0; part < count; part++)
            sum += parts[(size_t)part * sums + i];
        store_sum(i, columns, terms, sum, weights, bias);
    }
}

/* Does the same where there are many parts of few sums: each warp of a block adds some of the parts
 * of 32 sums, and the first one adds the sums of the warps. */
static __global__ void add_many_parts(const float *parts, uint32_t count, struct divisor columns,
                                      uint32_t terms, uint32_t sums, float *weights, float *bias)
{
    __shared__ float of_warps[PART_GROUPS][WARP];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t i = blockIdx.x * WARP + lane, each = (count + PART_GROUPS - 1) / PART_GROUPS;
    const uint32_t begin = warp * each, end = min(begin + each, count);
    float sum = 0;
    if (i < sums)
#pragma unroll 8
        for (uint32_t part = begin; part < end; part++)
            sum += parts[(size_t)part * sums + i];
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp > 0 || i >= sums)
        return;
    for (uint32_t w = 1; w < PART_GROUPS; w++)
        sum += of_warps[w][lane];
    store_sum(i, columns, terms, sum, weights, bias);
}

void sum_parts(struct cuda_context *context, const char *what, const float *parts, size_t count,
               size_t outputs, size_t terms, float *weights, float *bias)
{
    const size_t columns = terms + (bias ? 1 : 0), sums = outputs * columns;
    const bool many = count >= MANY_PARTS;
    launch(context, what, many ? add_many_parts : add_parts,
           many ? blocks_for(sums, WARP) : stride_blocks(sums), BLOCK, 0, parts, (uint32_t)count,
           divisor_of(columns), (uint32_t)terms, (uint32_t)sums, weights, bias);
}

static __global__ void add_channel(const float *values, uint32_t channels, struct divisor area,
                                   uint32_t count, float *sums)
{
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
        uint32_t at;
        const uint32_t n = divide_rest(i, area, &at);
        sum += values[(n * channels + blockIdx.x) * area.value + at];
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

void sum_channels(struct cuda_context *context, const char *what, const float *values, size_t batch,
                  size_t channels, size_t area, float *sums)
{
    const size_t count = batch * area;
    launch(context, what, add_channel, (unsigned)channels,
           count > 8 * BLOCK ? 4u * BLOCK : 1u * BLOCK, 0, values, (uint32_t)channels,
           divisor_of(area), (uint32_t)count, sums);
}

/* --- the choice --- */

struct weights_choice {
    size_t rows, columns;
    unsigned threads;
    weights_kernel *still, *moved;
    bool tensor; /* below float32 the products run on tensor cores; other tiles are too low */
    bool last;   /* the same for channels-last arrays (conv_weights_last.cu) */
};

typedef tile<128, 128, 8, 8> large_tile;
typedef tile<64, 64, 16, 4> small_tile;
typedef tile<32, 64, 16, 4> low_tile;
typedef tile<16, 128, 8, 4> lowest_tile;

#define TILED(tile, moved) (add_weights<plain_products<tile>, moved>)
static const struct weights_choice choices[] = {
    {128, 128, large_tile::THREADS, TILED(large_tile, false), TILED(large_tile, true), true, true},
    {64, 64, small_tile::THREADS, TILED(small_tile, false), TILED(small_tile, true), true, true},
    {32, 64, low_tile::THREADS, TILED(low_tile, false), TILED(low_tile, true), false, true},
    {16, 128, lowest_tile::THREADS, TILED(lowest_tile, false), TILED(lowest_tile, true), false,
     false},
};

/* Returns the number of terms of a group. */
static size_t terms_of(const struct conv_shape *conv)
{
    return conv->in.channels / conv->groups * conv->window.kernel_height *
           conv->window.kernel_width;
}

/* The least number of positions for which large tiles have enough parts to keep the GPU busy. */
enum { MANY_POSITIONS = 16 * LEAST_OF_A_PART };

/* Returns whether both arrays are channels-last, with channels that are loaded by 16 bytes. */
static bool is_last(const struct conv_shape *conv)
{
    return conv->in_last && conv->out_last && conv->in.channels / conv->groups % 4 == 0 &&
           conv->out.channels / conv->groups % 4 == 0;
}

static const struct weights_choice *choose(const struct conv_shape *conv)
{
    const size_t rows = conv->out.channels / conv->groups, terms = terms_of(conv);
    if (rows > 64 && terms > 128 && conv->batch * shape_area(conv->out) >= MANY_POSITIONS)
        return &choices[0];
    return rows > 32 ? &choices[1] : rows > 16 || is_last(conv) ? &choices[2] : &choices[3];
}

/* Returns the blocks of one part. */
static dim3 grid_of(const struct conv_shape *conv, const struct weights_choice *choice,
                    size_t columns)
{
    return dim3(blocks_for(columns, choice->columns),
                blocks_for(conv->out.channels / conv->groups, choice->rows),
                (unsigned)conv->groups);
}

/* Returns the number of parts, as many as the GPU runs at once. The bias has no influence. */
static size_t parts_of(const struct conv_shape *conv, enum cuda_precision precision)
{
    static std::atomic<unsigned> of_one[sizeof choices / sizeof *choices];
    const struct weights_choice *choice = choose(conv);
    const dim3 grid = grid_of(conv, choice, terms_of(conv));
    size_t resident;
    if (is_last(conv) && choice->last && precision != CUDA_FLOAT32)
        resident = weights_last_resident(precision, choice->rows);
    else if (choice->tensor && precision != CUDA_FLOAT32)
        resident = weights_tensor_resident(precision, choice->rows);
    else
        resident = resident_blocks(choice->still, choice->threads, &of_one[choice - choices]);
    return split_count((size_t)grid.x * grid.y * grid.z, conv->batch * shape_area(conv->out),
                       resident);
}

bool weight_gradients_use_tensor(const struct cuda_context *context, const struct conv_shape *conv)
{
    const struct weights_choice *choice = choose(conv);
    return context->precision != CUDA_FLOAT32 &&
           (choice->tensor || (choice->last && is_last(conv)));
}

/* Returns the bytes for the largest number of parts that this batch or a smaller one has, in any
 * precision and by either kernel. The number grows with the batch, but a batch that is too small
 * for large tiles may have more parts. */
size_t weight_gradients_workspace(const struct conv_shape *conv, bool bias)
{
    static const enum cuda_precision precisions[] = {CUDA_FLOAT32, CUDA_TF32, CUDA_BF16, CUDA_FP16};
    const size_t few = (MANY_POSITIONS - 1) / shape_area(conv->out);
    const size_t sums = conv->out.channels * (terms_of(conv) + (bias ? 1 : 0));
    struct conv_shape smaller = *conv;
    size_t most = 1;
    smaller.batch = few < 1 ? 1 : few < conv->batch ? few : conv->batch;
    for (enum cuda_precision precision : precisions) {
        most = std::max(most, parts_of(conv, precision));
        most = std::max(most, parts_of(&smaller, precision));
    }
    const size_t bytes = most > 1 ? most * sums * sizeof(float) : 0;
    return std::max(bytes, weights_direct_workspace(conv));
}

/* Returns the positions of a part: whole steps of a tile, so that positions that are loaded 16
 * bytes at a time lie in the same part. */
static size_t positions_of_a_part(size_t positions, size_t parts)
{
    return ((positions + parts - 1) / parts + 15) / 16 * 16;
}

void weight_gradients_run(struct cuda_context *context, const char *what,
                          const struct conv_shape *conv, const struct weight_gradients *gradients,
                          float *workspace)
{
    const struct weights_choice *choice = choose(conv);
    if ((context->precision == CUDA_FLOAT32 || !choice->tensor) &&
        weights_direct_run(context, what, conv, gradients, workspace))
        return;
    const size_t positions = conv->batch * shape_area(conv->out), terms = terms_of(conv);
    const size_t part_positions =
        positions_of_a_part(positions, parts_of(conv, context->precision));
    const size_t parts = (positions + part_positions - 1) / part_positions;
    const size_t columns = terms + (gradients->bias ? 1 : 0);
    const struct implicit_gemm gemm = implicit_gemm_forward(conv, gradients->fused_move);
    const bool moves =
        gemm.source_moves.shuffles || gemm.source_moves.shifts || gemm.source_by_position != 1;
    const struct weights_job job = {(uint32_t)positions, (uint32_t)part_positions,
                                    (uint32_t)parts,     (uint32_t)terms,
                                    (uint32_t)columns,   parts > 1 ? workspace : gradients->weights,
                                    gradients->bias};
    unsigned threads = choice->threads;
    weights_kernel *kernel = NULL;
    assert(context->precision == CUDA_FLOAT32 || !gradients->bias);
    if (choice->last && context->precision != CUDA_FLOAT32)
        kernel = weights_last(&gemm, context->precision, choice->rows, gradients->small,
                              gradients->large, &threads);
    if (!kernel && choice->tensor && context->precision != CUDA_FLOAT32)
        kernel = weights_tensor(&gemm, context->precision, choice->rows, gradients->small,
                                gradients->large, &threads);
    dim3 grid = grid_of(conv, choice, kernel ? terms : columns);
    grid.z *= (unsigned)parts;
    launch(context, what,
           kernel  ? kernel
           : moves ? choice->moved
                   : choice->still,
           grid, threads, 0, gemm, gradients->small, gradients->large, job);
    if (parts > 1)
        sum_parts(context, what, workspace, parts, conv->out.channels, terms, gradients->weights,
                  gradients->bias);
}
