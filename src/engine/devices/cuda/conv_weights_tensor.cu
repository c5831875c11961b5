/* The gradients of a convolution's weights on tensor cores (conv_weights.cu, tensor_tile.h).
 *
 * The sum is over positions, so that the table in shared memory that is filled again and again
 * (gather.h) is for positions; that of the block's terms is filled once. In each step it loads
 * values of the output's gradient at the same positions for some rows, and source values of the
 * same positions for some terms. Where four positions are neighbours in memory, it loads them
 * together (WIDE). The gradient of the bias has a kernel of its own: here its terms would be
 * rounded.
 */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/gather.h"
#include "engine/devices/cuda/tensor_tile.h"

#include <algorithm>

enum { TABLE = TABLE_STEPS * 16 }; /* positions in the tables: K is 16 */
static const uint32_t BEYOND = 0xffffffffu;

struct weights_tables {
    struct gather_column sources[TABLE];
    uint32_t small[TABLE]; /* from channel 0 of the image; BEYOND: the part has no such position */
    struct gather_term terms[128]; /* of the block's columns */
};

/* Fills the table of terms; a barrier must follow. */
template <class T>
static __device__ __forceinline__ void fill_terms(struct weights_tables *tables,
                                                  const struct implicit_gemm *w,
                                                  const struct gemm_block *block)
{
    static_assert(T::COLUMNS <= T::THREADS && T::COLUMNS <= 128, "a thread has one term");
    uint32_t unused;
    if (threadIdx.x < T::COLUMNS)
        tables->terms[threadIdx.x] =
            gather_term_of(w, block, blockIdx.x * T::COLUMNS + threadIdx.x, &unused);
}

/* Fills the tables of positions from position `first` on, with all threads of the block. */
template <class T>
static __device__ __forceinline__ void
fill_tables(struct weights_tables *tables, const struct implicit_gemm *w,
            const struct gemm_block *block, uint32_t first, uint32_t end)
{
    const uint32_t area = (uint32_t)(w->down.target_size * w->across.target_size);
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < TABLE; i += T::THREADS) {
        const uint32_t position = first + i < end ? first + i : block->columns;
        tables->sources[i] = gather_column_of(w, block, position);
        tables->small[i] = BEYOND;
        if (position < block->columns) {
            const struct gemm_column at = gemm_column_of(w, block, position);
            tables->small[i] =
                at.image * w->groups * w->rows * area +
                (uint32_t)(at.ty * w->across.target_size + at.tx) * w->target_by_position;
        }
    }
    __syncthreads();
}

/* The share of the two operands that each thread loads. */
template <class P, bool WIDE_ROWS, bool WIDE_VALUES> struct tensor_load {
    typedef typename P::T T;
    enum { NARROW = P::O::ASYNC ? 1 : 2 }; /* values that are stored together */
    /* LEFT successive positions of every LEFT_STEP-th row */
    enum { LEFT = WIDE_ROWS ? 4 : (int)NARROW, LEFT_STEP = T::THREADS * LEFT / T::K };
    enum { LEFT_COUNT = T::ROWS / LEFT_STEP };
    /* RIGHT successive positions of every RIGHT_STEP-th term */
    enum { RIGHT = WIDE_VALUES ? 4 : (int)NARROW, RIGHT_STEP = T::THREADS * RIGHT / T::K };
    enum { RIGHT_COUNT = T::COLUMNS / RIGHT_STEP, STATES = WIDE_VALUES ? 1 : (int)RIGHT };

    int left_position, left_row, right_position, right_column;
    uint32_t rows;     /* where the first row lies, from position 0 of channel 0 */
    uint32_t row_step; /* from one row of the thread to the next */
    int rows_left;     /* rows of the product from the first one on */
    float left[LEFT_COUNT][LEFT], right[RIGHT_COUNT][RIGHT];

    __device__ __forceinline__ void begin(const struct implicit_gemm *w,
                                          const struct gemm_block *block)
    {
        const uint32_t by_row = w->target_by_channel;
        const uint32_t first_row = blockIdx.y * T::ROWS;
        const int thread = (int)threadIdx.x;
        left_position = thread % (T::K / LEFT) * LEFT;
        left_row = thread / (T::K / LEFT);
        right_position = thread % (T::K / RIGHT) * RIGHT;
        right_column = thread / (T::K / RIGHT);
        rows = (block->group * w->rows + first_row + left_row) * by_row;
        row_step = LEFT_STEP * by_row;
        rows_left = (int)w->rows - (int)first_row - left_row;
    }

    /* Begins to load the K positions of step `step` of the tables. It reads the tables before it
     * copies: on sm_90 a copy after a load from shared memory costs three more instructions. */
    __device__ __forceinline__ void load(typename P::memory *memory,
                                         const struct weights_tables *tables, const float *small,
                                         const float *large, uint32_t step, int stage)
    {
        const uint32_t first = step % TABLE_STEPS * T::K;
        struct gather_column sources[STATES];
        struct gather_term terms[RIGHT_COUNT];
        uint32_t positions[LEFT];
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++)
            terms[k] = tables->terms[right_column + k * RIGHT_STEP];
#pragma unroll
        for (int i = 0; i < LEFT; i++)
            positions[i] = tables->small[first + left_position + i];
#pragma unroll
        for (int i = 0; i < STATES; i++)
            sources[i] = tables->sources[first + right_position + i];
#pragma unroll
        for (int k = 0; k < LEFT_COUNT; k++) {
            const float *from[LEFT];
            bool there[LEFT];
#pragma unroll
            for (int i = 0; i < LEFT; i++) {
                from[i] = small + (rows + positions[i] + (uint32_t)k * row_step);
                there[i] = positions[i] != BEYOND && k * LEFT_STEP < rows_left;
            }
            load_values<typename P::O, LEFT, WIDE_ROWS>(
                &memory->left[stage][left_row + k * LEFT_STEP][left_position], left[k], from,
                there);
        }
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++) {
            const float *from[RIGHT];
            bool there[RIGHT];
#pragma unroll
            for (int i = 0; i < STATES; i++) {
                from[i] = large + (uint32_t)(sources[i].first + terms[k].offset);
                there[i] = gather_is_inside(sources[i], terms[k]);
            }
            load_values<typename P::O, RIGHT, WIDE_VALUES>(
                &memory->right[stage][right_column + k * RIGHT_STEP][right_position], right[k],
                from, there);
        }
    }

    /* Stores the values that load has left in registers. */
    __device__ __forceinline__ void put(typename P::memory *memory, int stage) const
    {
        if constexpr (!P::O::ASYNC) {
            put_side<typename P::O, LEFT_STEP>(memory->left[stage], left_row, left_position, left);
            put_side<typename P::O, RIGHT_STEP>(memory->right[stage], right_column, right_position,
                                                right);
        }
    }
};

template <class P, bool WIDE_ROWS, bool WIDE_VALUES>
static __global__ void __launch_bounds__(P::T::THREADS, RESIDENT_THREADS / P::T::THREADS)
    add_weights_tensor(const __grid_constant__ struct implicit_gemm w, const float *small,
                       const float *large, const struct weights_job job)
{
    typedef typename P::T T;
    typedef struct tensor_load<P, WIDE_ROWS, WIDE_VALUES> LOAD;
    if constexpr (P::O::HAS_CODE) {
        __shared__ typename P::memory memory;
        __shared__ struct weights_tables tables;
        const uint32_t part = blockIdx.z % job.parts;
        const struct gemm_block block = gemm_block_of(&w, blockIdx.z / job.parts);
        const uint32_t begin = part * job.part_positions;
        const uint32_t end = min(begin + job.part_positions, job.positions);
        typename P::sums sums;
        LOAD load;
        fill_terms<T>(&tables, &w, &block);
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
                weights_store(&job, w.groups * w.rows, part, block.group * w.rows + at, term, sum);
        });
    }
}

/* --- the choice --- */

#define WIDTHS(tile, operand)                                                                      \
    {                                                                                              \
        {add_weights_tensor<tensor_products<tile, operand, true>, false, false>,                   \
         add_weights_tensor<tensor_products<tile, operand, true>, false, true>},                   \
            {add_weights_tensor<tensor_products<tile, operand, true>, true, false>,                \
             add_weights_tensor<tensor_products<tile, operand, true>, true, true>},                \
    }

struct tensor_choice {
    unsigned threads;
    weights_kernel *kernels[3][2][2]; /* by precision, wide rows, wide values */
};
static const struct tensor_choice large_choice = {large_tensor_tile::THREADS,
                                                  {WIDTHS(large_tensor_tile, operand_tf32),
                                                   WIDTHS(large_tensor_tile, operand_bf16),
                                                   WIDTHS(large_tensor_tile, operand_fp16)}};
static const struct tensor_choice small_choice = {small_tensor_tile::THREADS,
                                                  {WIDTHS(small_tensor_tile, operand_tf32),
                                                   WIDTHS(small_tensor_tile, operand_bf16),
                                                   WIDTHS(small_tensor_tile, operand_fp16)}};

weights_kernel *weights_tensor(const struct implicit_gemm *w, enum cuda_precision precision,
                               size_t rows, const float *small, const float *large,
                               unsigned *threads)
{
    const struct tensor_choice *choice =
        rows == large_tensor_tile::ROWS ? &large_choice : &small_choice;
    const bool wide_rows = w->target_by_position == 1 &&
                           w->down.target_size * w->across.target_size % 4 == 0 &&
                           (uintptr_t)small % 16 == 0;
    if (!gather_supports(w))
        return NULL;
    *threads = choice->threads;
    return choice->kernels[precision - CUDA_TF32][wide_rows][gather_is_wide(w, large)];
}

/* Returns the resident blocks; a kernel that is empty on this architecture, and is never launched,
 * counts as the others do. */
size_t weights_tensor_resident(enum cuda_precision precision, size_t rows)
{
    static std::atomic<unsigned> of_one[2][3];
    const bool large = rows == large_tensor_tile::ROWS;
    const struct tensor_choice *choice = large ? &large_choice : &small_choice;
    const size_t number = precision - CUDA_TF32;
    const size_t bound = RESIDENT_THREADS / choice->threads * multiprocessor_count();
    return std::min(bound, resident_blocks(choice->kernels[number][0][0], choice->threads,
                                           &of_one[large][number]));
}
