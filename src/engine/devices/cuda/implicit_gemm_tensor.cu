/* The kernels of an implicit GEMM on tensor cores (implicit_gemm.h, tensor_tile.h).
 *
 * A block keeps two tables in shared memory for the terms that it is about to load, so that the
 * loop over the terms has no division: where a term's value lies, relative to the first one of a
 * column's window (gather.h), and where its weight lies. In each step a thread loads the weights of
 * the same terms for some rows, and source values of the same columns for some terms. Where four
 * weights or four columns are neighbours in memory, it loads them together (WIDE). */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/gather.h"
#include "engine/devices/cuda/gemm_split.h"
#include "engine/devices/cuda/tensor_tile.h"

enum { TABLE = TABLE_STEPS * 16 }; /* terms in the tables: K is 16 */

struct gemm_tables {
    struct gather_term terms[TABLE];
    uint32_t weights[TABLE];
};

/* Fills the tables from `first` on, with all threads of the block. */
template <class T>
static __device__ __forceinline__ void fill_tables(struct gemm_tables *tables,
                                                   const struct implicit_gemm *w,
                                                   const struct gemm_block *block, uint32_t first)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < TABLE; i += T::THREADS)
        tables->terms[i] = gather_term_of(w, block, first + i, &tables->weights[i]);
    __syncthreads();
}

/* The share of the two operands that each thread loads. */
template <class P, bool WIDE_WEIGHTS, bool WIDE_VALUES> struct tensor_load {
    typedef typename P::T T;
    enum { NARROW = P::O::ASYNC ? 1 : 2 }; /* values that are stored together */
    /* weights: LEFT successive terms of every LEFT_STEP-th row */
    enum { LEFT = WIDE_WEIGHTS ? 4 : (int)NARROW, LEFT_STEP = T::THREADS * LEFT / T::K };
    enum { LEFT_COUNT = T::ROWS / LEFT_STEP };
    /* source values: RIGHT successive columns of every RIGHT_STEP-th term */
    enum { RIGHT = WIDE_VALUES ? 4 : (int)NARROW, RIGHT_STEP = T::THREADS * RIGHT / T::COLUMNS };
    enum { RIGHT_COUNT = T::K / RIGHT_STEP, STATES = WIDE_VALUES ? 1 : (int)RIGHT };

    int left_term, left_row, right_term, right_column;
    uint32_t weights; /* where those of the first row lie */
    int rows_left;    /* rows of the product from there on */
    struct gather_column columns[STATES];
    float left[LEFT_COUNT][LEFT], right[RIGHT_COUNT][RIGHT];

    __device__ __forceinline__ void begin(const struct implicit_gemm *w,
                                          const struct gemm_block *block)
    {
        const int thread = (int)threadIdx.x;
        const uint32_t first_row = blockIdx.y * T::ROWS, first_column = blockIdx.x * T::COLUMNS;
        left_term = thread % (T::K / LEFT) * LEFT;
        left_row = thread / (T::K / LEFT);
        right_column = thread % (T::COLUMNS / RIGHT) * RIGHT;
        right_term = thread / (T::COLUMNS / RIGHT);
        weights = block->group * w->by_group + (first_row + left_row) * w->by_row;
        rows_left = (int)w->rows - (int)first_row - left_row;
#pragma unroll
        for (int c = 0; c < STATES; c++)
            columns[c] = gather_column_of(w, block, first_column + right_column + c);
    }

    /* Begins to load the K terms from `first` on, counted from the part's first one. It reads the
     * tables before it copies: on sm_90 a copy after a load from shared memory costs three more
     * instructions. */
    __device__ __forceinline__ void load(typename P::memory *memory,
                                         const struct gemm_tables *tables,
                                         const struct implicit_gemm *w, uint32_t terms,
                                         const float *weight, const float *source, uint32_t first,
                                         int stage)
    {
        uint32_t offsets[LEFT];
        struct gather_term of_step[RIGHT_COUNT];
#pragma unroll
        for (int i = 0; i < LEFT; i++)
            offsets[i] = tables->weights[first % TABLE + left_term + i];
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++)
            of_step[k] = tables->terms[first % TABLE + right_term + k * RIGHT_STEP];
        load_weights(memory, w, terms, weight + weights, first, stage, offsets);
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++) {
            const float *from[RIGHT];
            bool there[RIGHT];
#pragma unroll
            for (int i = 0; i < STATES; i++) {
                from[i] = source + (uint32_t)(columns[i].first + of_step[k].offset);
                there[i] = gather_is_inside(columns[i], of_step[k]);
            }
            load_values<typename P::O, RIGHT, WIDE_VALUES>(
                &memory->right[stage][right_term + k * RIGHT_STEP][right_column], right[k], from,
                there);
        }
    }

    __device__ __forceinline__ void load_weights(typename P::memory *memory,
                                                 const struct implicit_gemm *w, uint32_t terms,
                                                 const float *weight, uint32_t first, int stage,
                                                 const uint32_t offsets[LEFT])
    {
#pragma unroll
        for (int k = 0; k < LEFT_COUNT; k++) {
            const float *from[LEFT];
            bool there[LEFT];
#pragma unroll
            for (int i = 0; i < LEFT; i++) {
                from[i] = weight + (offsets[i] + (uint32_t)(k * LEFT_STEP) * w->by_row);
                there[i] = first + left_term + i < terms && k * LEFT_STEP < rows_left;
            }
            load_values<typename P::O, LEFT, WIDE_WEIGHTS>(
                &memory->left[stage][left_row + k * LEFT_STEP][left_term], left[k], from, there);
        }
    }

    /* Stores the values that load has left in registers. */
    __device__ __forceinline__ void put(typename P::memory *memory, int stage) const
    {
        if constexpr (!P::O::ASYNC) {
            put_side<typename P::O, LEFT_STEP>(memory->left[stage], left_row, left_term, left);
            put_side<typename P::O, RIGHT_STEP>(memory->right[stage], right_term, right_column,
                                                right);
        }
    }
};

template <class P, bool WIDE_WEIGHTS, bool WIDE_VALUES>
static __global__ void __launch_bounds__(P::T::THREADS, RESIDENT_THREADS / P::T::THREADS)
    gemm_tensor(const __grid_constant__ struct implicit_gemm w, const float *weight,
                const float *source, const struct gemm_result result)
{
    typedef typename P::T T;
    if constexpr (P::O::HAS_CODE) {
        __shared__ typename P::memory memory;
        __shared__ struct gemm_tables tables;
        struct gemm_part part = gemm_part_of<T>(&result);
        struct gemm_block block = gemm_block_of(&w, part.z);
        if (blockIdx.x * T::COLUMNS >= block.columns) /* another phase has more columns */
            return;
        gemm_part_limit(&part, block.terms);
        block.terms = part.end; /* no term is loaded from there on */
        const uint32_t terms = part.end - part.first;
        struct tensor_load<P, WIDE_WEIGHTS, WIDE_VALUES> load;
        typename P::sums sums;
        load.begin(&w, &block);
        P::run(
            &sums, &memory, (terms + T::K - 1) / T::K,
            [&](uint32_t step) { fill_tables<T>(&tables, &w, &block, part.first + step * T::K); },
            [&](uint32_t step, int stage) {
                load.load(&memory, &tables, &w, terms, weight, source, step * T::K, stage);
            },
            [&](int stage) { load.put(&memory, stage); });
        if (!gemm_join<P::COUNT, T::THREADS>(&result, &sums.of[0][0][0]))
            return;
        P::end(&sums, [&](int row, int column, float sum) {
            gemm_store_numbered(&w, &block, blockIdx.y * T::ROWS + row,
                                blockIdx.x * T::COLUMNS + column, sum, &result);
        });
    }
}

/* --- the choice --- */

#define WIDTHS(tile, operand)                                                                      \
    {                                                                                              \
        {gemm_tensor<tensor_products<tile, operand, false>, false, false>,                         \
         gemm_tensor<tensor_products<tile, operand, false>, false, true>},                         \
            {gemm_tensor<tensor_products<tile, operand, false>, true, false>,                      \
             gemm_tensor<tensor_products<tile, operand, false>, true, true>},                      \
    }

struct tensor_choice {
    unsigned threads;
    gemm_kernel *kernels[3][2][2]; /* by precision, wide weights, wide values */
};
static const struct tensor_choice large = {large_tensor_tile::THREADS,
                                           {WIDTHS(large_tensor_tile, operand_tf32),
                                            WIDTHS(large_tensor_tile, operand_bf16),
                                            WIDTHS(large_tensor_tile, operand_fp16)}};
static const struct tensor_choice small = {small_tensor_tile::THREADS,
                                           {WIDTHS(small_tensor_tile, operand_tf32),
                                            WIDTHS(small_tensor_tile, operand_bf16),
                                            WIDTHS(small_tensor_tile, operand_fp16)}};

/* Returns whether the weights of a row lie in the order of the terms, four of them 16 bytes that
 * begin at a multiple of 16. */
static bool has_wide_weights(const struct implicit_gemm *w, const float *weight)
{
    const struct gemm_phase *down = &w->down.phases[0], *across = &w->across.phases[0];
    return w->down.phase_count == 1 && w->across.phase_count == 1 && w->down.weight_step == 1 &&
           w->across.weight_step == 1 && across->taps.value == w->window_width &&
           down->taps.value * across->taps.value == w->by_channel && w->by_row % 4 == 0 &&
           w->by_row == w->channels * w->by_channel && (uintptr_t)weight % 16 == 0;
}

gemm_kernel *implicit_gemm_tensor(const struct implicit_gemm *w, enum cuda_precision precision,
                                  size_t rows, const float *weight, const float *source,
                                  unsigned *threads)
{
    const struct tensor_choice *choice = rows == large_tensor_tile::ROWS ? &large : &small;
    if (!gather_supports(w))
        return NULL;
    *threads = choice->threads;
    return choice
        ->kernels[precision - CUDA_TF32][has_wide_weights(w, weight)][gather_is_wide(w, source)];
}
