/* The gradients of a convolution's weights on tensor cores, from channels-last arrays
 * (conv_weights.cu, tensor_tile.h).
 *
 * The sum is over positions, and channels lie side by side in memory: the rows of the product on
 * one side, and the terms of a tap on the other. Both operands therefore lie in shared memory
 * position by position, and a thread loads four channels of a position with 16 bytes. A thread
 * always loads the same four rows and the same four terms; a table in shared memory says where the
 * positions lie (gather.h). Terms are counted as in implicit_gemm_last.cu, and results are stored
 * in the order of the weights.
 *
 * Channels of a group must be a multiple of 4 on both sides, and no channel move is fused. */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/gather.h"
#include "engine/devices/cuda/tensor_tile.h"

#include <algorithm>

enum { FOUR = 4, TABLE = TABLE_STEPS * 16 }; /* positions in the tables: K is 16 */
static const uint32_t BEYOND = 0xffffffffu;

struct last_tables {
    struct gather_column sources[TABLE];
    uint32_t small[TABLE]; /* channel 0; BEYOND: the part has no such position */
};

/* Fills the tables from position `first` on, with all threads of the block. */
template <class T>
static __device__ __forceinline__ void
fill_tables(struct last_tables *tables, const struct implicit_gemm *w,
            const struct gemm_block *block, uint32_t first, uint32_t end)
{
    const uint32_t width = (uint32_t)w->across.target_size;
    const uint32_t area = (uint32_t)w->down.target_size * width;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < TABLE; i += T::THREADS) {
        const uint32_t position = first + i < end ? first + i : block->columns;
        tables->sources[i] = gather_column_of(w, block, position);
        tables->small[i] = BEYOND;
        if (position < block->columns) {
            const struct gemm_column at = gemm_column_of(w, block, position);
            tables->small[i] = (at.image * area + (uint32_t)at.ty * width + (uint32_t)at.tx) *
                               w->target_by_position;
        }
    }
    __syncthreads();
}

/* Returns the number of a term as gather_term_of counts them, the taps of a channel one after the
 * other: that is also its place in a row of the weights. */
static __device__ __forceinline__ uint32_t place_of(const struct implicit_gemm *w, uint32_t term)
{
    uint32_t channel;
    const uint32_t tap = divide_rest(term, w->by_channels, &channel);
    return channel * w->by_channel + tap;
}

/* Each thread loads four rows and four terms of every STEP-th position. */
template <class P> struct last_load {
    typedef typename P::T T;
    enum { LEFT_STEP = T::THREADS * FOUR / T::ROWS, LEFT_COUNT = T::K / LEFT_STEP };
    enum { RIGHT_STEP = T::THREADS * FOUR / T::COLUMNS, RIGHT_COUNT = T::K / RIGHT_STEP };
    static_assert(LEFT_COUNT > 0 && RIGHT_COUNT > 0, "every thread loads both operands");

    int left_row, left_position, right_term, right_position;
    uint32_t rows; /* where the four rows lie, from channel 0 */
    bool has_rows;
    struct gather_term term;
    float left[LEFT_COUNT][FOUR], right[RIGHT_COUNT][FOUR];

    __device__ __forceinline__ void begin(const struct implicit_gemm *w,
                                          const struct gemm_block *block)
    {
        uint32_t unused;
        const int thread = (int)threadIdx.x;
        left_row = thread % (T::ROWS / FOUR) * FOUR;
        left_position = thread / (T::ROWS / FOUR);
        right_term = thread % (T::COLUMNS / FOUR) * FOUR;
        right_position = thread / (T::COLUMNS / FOUR);
        const uint32_t row = blockIdx.y * T::ROWS + left_row;
        const uint32_t first = blockIdx.x * T::COLUMNS + right_term;
        has_rows = row < w->rows;
        rows = block->group * w->rows + row;
        term = gather_term_of(w, block, first < block->terms ? place_of(w, first) : block->terms,
                              &unused);
    }

    /* Begins to load the K positions of step `step` of the tables. */
    __device__ __forceinline__ void load(typename P::memory *memory,
                                         const struct last_tables *tables, const float *small,
                                         const float *large, uint32_t step, int stage)
    {
        const uint32_t first = step % TABLE_STEPS * T::K;
        uint32_t positions[LEFT_COUNT];
        struct gather_column sources[RIGHT_COUNT];
#pragma unroll
        for (int k = 0; k < LEFT_COUNT; k++)
            positions[k] = tables->small[first + left_position + k * LEFT_STEP];
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++)
            sources[k] = tables->sources[first + right_position + k * RIGHT_STEP];
#pragma unroll
        for (int k = 0; k < LEFT_COUNT; k++) {
            const float *const from[] = {small + (rows + positions[k])};
            const bool there[] = {positions[k] != BEYOND && has_rows};
            load_values<typename P::O, FOUR, true>(
                &memory->left[stage][left_position + k * LEFT_STEP][left_row], left[k], from,
                there);
        }
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++) {
            const float *const from[] = {large + (uint32_t)(sources[k].first + term.offset)};
            const bool there[] = {gather_is_inside(sources[k], term)};
            load_values<typename P::O, FOUR, true>(
                &memory->right[stage][right_position + k * RIGHT_STEP][right_term], right[k], from,
                there);
        }
    }

    /* Stores the values that load has left in registers. */
    __device__ __forceinline__ void put(typename P::memory *memory, int stage) const
    {
        if constexpr (!P::O::ASYNC) {
            put_side<typename P::O, LEFT_STEP>(memory->left[stage], left_position, left_row, left);
            put_side<typename P::O, RIGHT_STEP>(memory->right[stage], right_position, right_term,
                                                right);
        }
    }
};

template <class P>
static __global__ void __launch_bounds__(P::T::THREADS, RESIDENT_THREADS / P::T::THREADS)
    add_weights_last(const __grid_constant__ struct implicit_gemm w, const float *small,
                     const float *large, const struct weights_job job)
{
    typedef typename P::T T;
    if constexpr (P::O::HAS_CODE) {
        __shared__ typename P::memory memory;
        __shared__ struct last_tables tables;
        const uint32_t part = blockIdx.z % job.parts;
        const struct gemm_block block = gemm_block_of(&w, blockIdx.z / job.parts);
        const uint32_t begin = part * job.part_positions;
        const uint32_t end = min(begin + job.part_positions, job.positions);
        typename P::sums sums;
        struct last_load<P> load;
        load.begin(&w, &block);
        P::run(
            &sums, &memory, (end - begin + T::K - 1) / T::K,
            [&](uint32_t step) { fill_tables<T>(&tables, &w, &block, begin + step * T::K, end); },
            [&](uint32_t step, int stage) {
                load.load(&memory, &tables, small, large, step, stage);
            },
            [&](int stage) { load.put(&memory, stage); });
        P::end(&sums, [&](int row, int column, float sum) {
            const uint32_t term = blockIdx.x * T::COLUMNS + column;
            const uint32_t at = blockIdx.y * T::ROWS + row;
            if (term < job.terms && at < w.rows)
                weights_store(&job, w.groups * w.rows, part, block.group * w.rows + at,
                              place_of(&w, term), sum);
        });
    }
}

/* --- the choice --- */

#define OPERANDS(tile)                                                                             \
    {                                                                                              \
        add_weights_last<tensor_products<tile, operand_tf32, false, true>>,                        \
            add_weights_last<tensor_products<tile, operand_bf16, false, true>>,                    \
            add_weights_last<tensor_products<tile, operand_fp16, false, true>>,                    \
    }

struct last_choice {
    size_t rows;
    unsigned threads;
    weights_kernel *kernels[3]; /* by precision */
};
static const struct last_choice choices[] = {
    {large_tensor_tile::ROWS, large_tensor_tile::THREADS, OPERANDS(large_tensor_tile)},
    {small_tensor_tile::ROWS, small_tensor_tile::THREADS, OPERANDS(small_tensor_tile)},
    {low_weights_tile::ROWS, low_weights_tile::THREADS, OPERANDS(low_weights_tile)},
};

weights_kernel *weights_last(const struct implicit_gemm *w, enum cuda_precision precision,
                             size_t rows, const float *small, const float *large, unsigned *threads)
{
    if (!gather_supports(w) || !gather_is_wide_by_channels(w, large) ||
        w->target_by_position == 1 || w->rows % FOUR != 0 || (uintptr_t)small % 16 != 0)
        return NULL;
    for (const struct last_choice &choice : choices)
        if (choice.rows == rows) {
            *threads = choice.threads;
            return choice.kernels[precision - CUDA_TF32];
        }
    return NULL;
}

size_t weights_last_resident(enum cuda_precision precision, size_t rows)
{
    static std::atomic<unsigned> of_one[sizeof choices / sizeof *choices][3];
    const size_t number = precision - CUDA_TF32;
    size_t i = 0;
    while (choices[i].rows != rows)
        i++;
    const size_t bound = RESIDENT_THREADS / choices[i].threads * multiprocessor_count();
    return std::min(
        bound, resident_blocks(choices[i].kernels[number], choices[i].threads, &of_one[i][number]));
}
