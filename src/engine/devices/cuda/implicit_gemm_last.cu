/* The kernels of an implicit GEMM on tensor cores whose source is channels-last (implicit_gemm.h,
 * tensor_tile.h).
 *
 * The terms are counted tap by tap, and by channels within a tap, so that successive terms of a
 * column are neighbours in memory: four are loaded with 16 bytes, for any window and stride. A
 * table in shared memory has an entry for four terms (gather.h). The weights are copied to the same
 * order first, [rows, taps, channels], in the workspace; the master weights and their files stay as
 * they are. Both operands then lie in shared memory with the terms of a line as neighbours.
 *
 * Channels of a group must be a multiple of 4, and no channel move is fused into the source. */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/gather.h"
#include "engine/devices/cuda/gemm_split.h"
#include "engine/devices/cuda/tensor_tile.h"

enum { FOUR = 4, TABLE = TABLE_STEPS * 16 / FOUR }; /* K is 16 */

struct last_tables {
    struct gather_term terms[TABLE]; /* of four channels */
    uint32_t weights[TABLE];
};

/* Returns the first of four successive terms, as gather_term_of; none from `end` on. */
static __device__ __forceinline__ struct gather_term term_of(const struct implicit_gemm *w,
                                                             const struct gemm_block *block,
                                                             struct divisor channels, uint32_t term,
                                                             uint32_t end, uint32_t *weight)
{
    uint32_t channel;
    const uint32_t tap = divide_rest(term, channels, &channel);
    const uint32_t taps = block->down.taps.value * block->across.taps.value;
    /* gather_term_of counts the taps of a channel one after the other */
    return gather_term_of(w, block, term < end ? channel * taps + tap : block->terms, weight);
}

/* Fills the tables from term `first` to `end`, with all threads of the block. */
template <class T>
static __device__ __forceinline__ void
fill_tables(struct last_tables *tables, const struct implicit_gemm *w,
            const struct gemm_block *block, struct divisor channels, uint32_t first, uint32_t end)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < TABLE; i += T::THREADS)
        tables->terms[i] = term_of(w, block, channels, first + FOUR * i, end, &tables->weights[i]);
    __syncthreads();
}

/* Each thread loads four successive terms of every STEP-th row and column. */
template <class P> struct last_load {
    typedef typename P::T T;
    enum { STEP = T::THREADS * FOUR / T::K };
    enum { LEFT_COUNT = T::ROWS / STEP, RIGHT_COUNT = T::COLUMNS / STEP };
    static_assert(LEFT_COUNT > 0 && RIGHT_COUNT > 0, "every thread loads both operands");

    int four, line;
    uint32_t weights; /* where those of the first row lie */
    int rows_left;    /* rows of the product from there on */
    struct gather_column columns[RIGHT_COUNT];
    float left[LEFT_COUNT][FOUR], right[RIGHT_COUNT][FOUR];

    __device__ __forceinline__ void begin(const struct implicit_gemm *w,
                                          const struct gemm_block *block)
    {
        const uint32_t first_row = blockIdx.y * T::ROWS, first_column = blockIdx.x * T::COLUMNS;
        four = (int)threadIdx.x % (T::K / FOUR);
        line = (int)threadIdx.x / (T::K / FOUR);
        weights = block->group * w->by_group + (first_row + line) * w->by_row;
        rows_left = (int)w->rows - (int)first_row - line;
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++)
            columns[k] = gather_column_of(w, block, first_column + line + k * STEP);
    }

    /* Begins to load the terms of step `step`. It reads the tables before it copies: on sm_90 a
     * copy after a load from shared memory costs three more instructions. */
    __device__ __forceinline__ void load(typename P::memory *memory,
                                         const struct last_tables *tables,
                                         const struct implicit_gemm *w, const float *weight,
                                         const float *source, uint32_t step, int stage)
    {
        const uint32_t at = step % TABLE_STEPS * (T::K / FOUR) + four;
        const struct gather_term term = tables->terms[at];
        const float *row = weight + (weights + tables->weights[at]);
        const bool inside = !(term.taps & GATHER_NEVER);
#pragma unroll
        for (int k = 0; k < LEFT_COUNT; k++) {
            const float *const from[] = {row + (uint32_t)(k * STEP) * w->by_row};
            const bool there[] = {inside && k * STEP < rows_left};
            load_values<typename P::O, FOUR, true>(
                &memory->left[stage][line + k * STEP][FOUR * four], left[k], from, there);
        }
#pragma unroll
        for (int k = 0; k < RIGHT_COUNT; k++) {
            const float *const from[] = {source + (uint32_t)(columns[k].first + term.offset)};
            const bool there[] = {gather_is_inside(columns[k], term)};
            load_values<typename P::O, FOUR, true>(
                &memory->right[stage][line + k * STEP][FOUR * four], right[k], from, there);
        }
    }

    /* Stores the values that load has left in registers. */
    __device__ __forceinline__ void put(typename P::memory *memory, int stage) const
    {
        if constexpr (!P::O::ASYNC) {
            put_side<typename P::O, STEP>(memory->left[stage], line, FOUR * four, left);
            put_side<typename P::O, STEP>(memory->right[stage], line, FOUR * four, right);
        }
    }
};

template <class P>
static __global__ void __launch_bounds__(P::T::THREADS, RESIDENT_THREADS / P::T::THREADS)
    gemm_last(const __grid_constant__ struct implicit_gemm w, const float *weight,
              const float *source, const struct gemm_result result)
{
    typedef typename P::T T;
    if constexpr (P::O::HAS_CODE) {
        __shared__ typename P::memory memory;
        __shared__ struct last_tables tables;
        struct gemm_part part = gemm_part_of<T>(&result);
        const struct gemm_block block = gemm_block_of(&w, part.z);
        if (blockIdx.x * T::COLUMNS >= block.columns) /* another phase has more columns */
            return;
        gemm_part_limit(&part, block.terms);
        struct last_load<P> load;
        typename P::sums sums;
        load.begin(&w, &block);
        P::run(
            &sums, &memory, (part.end - part.first + T::K - 1) / T::K,
            [&](uint32_t step) {
                fill_tables<T>(&tables, &w, &block, w.by_channels, part.first + step * T::K,
                               part.end);
            },
            [&](uint32_t step, int stage) {
                load.load(&memory, &tables, &w, weight, source, step, stage);
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

/* --- the weights --- */

/* Copies between packed[group, row, tap, channel] and the weights. */
static __global__ void pack(const float *from, float *to, bool unpacks,
                            const __grid_constant__ struct implicit_gemm w, struct divisor taps,
                            struct divisor rows, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        uint32_t channel, tap, row;
        const uint32_t line = divide_rest(divide_rest(i, w.by_channels, &channel), taps, &tap);
        const uint32_t group = divide_rest(line, rows, &row);
        const uint32_t at = group * w.by_group + row * w.by_row + channel * w.by_channel + tap;
        to[unpacks ? at : i] = from[unpacks ? i : at];
    }
}

static void copy(struct cuda_context *context, const struct implicit_gemm *w, const float *from,
                 float *to, bool unpacks)
{
    const uint32_t count = w->groups * w->rows * w->window_taps * w->channels;
    launch(context, "conv weights by channels", pack, stride_blocks(count), BLOCK, 0, from, to,
           unpacks, *w, divisor_of(w->window_taps), divisor_of(w->rows), count);
}

const float *implicit_gemm_pack(struct cuda_context *context, struct implicit_gemm *w,
                                const float *weight, float *packed)
{
    const bool packs = w->window_taps > 1 || w->by_channel > 1;
    if (packs)
        copy(context, w, weight, packed, false);
    w->by_channel = 1;
    w->by_tap = w->channels;
    w->by_row = w->window_taps * w->channels;
    w->by_group = w->rows * w->by_row;
    return packs ? packed : weight;
}

void implicit_gemm_unpack(struct cuda_context *context, const struct implicit_gemm *w,
                          const float *packed, float *weight)
{
    copy(context, w, packed, weight, true);
}

/* --- the choice --- */

#define OPERANDS(tile)                                                                             \
    {                                                                                              \
        gemm_last<tensor_products<tile, operand_tf32, true>>,                                      \
            gemm_last<tensor_products<tile, operand_bf16, true>>,                                  \
            gemm_last<tensor_products<tile, operand_fp16, true>>,                                  \
    }

gemm_kernel *implicit_gemm_last(const struct implicit_gemm *w, enum cuda_precision precision,
                                size_t rows, const float *source, unsigned *threads)
{
    static const struct {
        size_t rows;
        unsigned threads;
        gemm_kernel *kernels[3]; /* by precision */
    } choices[] = {
        {large_tensor_tile::ROWS, large_tensor_tile::THREADS, OPERANDS(large_tensor_tile)},
        {small_tensor_tile::ROWS, small_tensor_tile::THREADS, OPERANDS(small_tensor_tile)},
        {low_tensor_tile::ROWS, low_tensor_tile::THREADS, OPERANDS(low_tensor_tile)},
    };
    if (!gather_supports(w) || !gather_is_wide_by_channels(w, source))
        return NULL;
    for (const auto &choice : choices)
        if (choice.rows == rows) {
            *threads = choice.threads;
            return choice.kernels[precision - CUDA_TF32];
        }
    return NULL;
}
