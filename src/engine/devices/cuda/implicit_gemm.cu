/* The kernels of an implicit GEMM (implicit_gemm.h).
 *
 * Tiled: a block computes a tile of rows x columns. In each step it loads the weights and
 * the source values of a few terms (indices of K) into shared memory. While these are multiplied,
 * the next ones are loaded into registers. Every thread sums a small square of the tile.
 *
 * Sliced along K: if there are too few tiles to keep the GPU busy, as for single images, a tile is
 * smaller, and each of the block's eight warps sums every eighth step of the terms. At the end the
 * sums of the warps are added in order.
 *
 * Parts: a block of either kind may sum a part of its tile's terms only (gemm_split.h).
 *
 * Products below float32 are in implicit_gemm_tensor.cu.
 */
#include "engine/devices/cuda/conv_tensor.h"
#include "engine/devices/cuda/conv_tile.h"
#include "engine/devices/cuda/gather.h"
#include "engine/devices/cuda/gemm_split.h"

/* --- geometry --- */

static struct gemm_phase phase_of(size_t columns, size_t taps, int source_first, int target_first,
                                  int weight_first)
{
    return {divisor_of(columns ? columns : 1),
            divisor_of(taps ? taps : 1),
            columns == 0,
            taps == 0,
            source_first,
            target_first,
            weight_first};
}

static struct gemm_axis axis_forward(size_t in, size_t out, size_t kernel, size_t stride,
                                     size_t pad)
{
    struct gemm_axis axis = {};
    axis.phases[0] = phase_of(out, kernel, -(int)pad, 0, 0);
    axis.phase_count = 1;
    axis.source_step = (int)stride;
    axis.source_tap = axis.target_step = axis.weight_step = 1;
    axis.source_size = (int)in;
    axis.target_size = (int)out;
    return axis;
}

/* Returns the axis of the input's gradient. Position q of `in` lies under tap k of the window at
 * position (q + pad - k) / stride of `out`, if that is an integer. The positions of phase r are q =
 * first, first + stride, ...; their taps are k = r, r + stride, ... */
static struct gemm_axis axis_back(size_t in, size_t out, size_t kernel, size_t stride, size_t pad,
                                  size_t remainder)
{
    struct gemm_axis axis = {};
    const size_t left = stride - remainder;
    axis.phase_count = (int)(left < GEMM_PHASES ? left : (size_t)GEMM_PHASES);
    for (int p = 0; p < axis.phase_count; p++) {
        const size_t r = remainder + (size_t)p;
        const size_t first = (r + stride - pad % stride) % stride;
        const size_t columns = first < in ? (in - first + stride - 1) / stride : 0;
        const size_t taps = r < kernel ? (kernel - r + stride - 1) / stride : 0;
        axis.phases[p] =
            phase_of(columns, taps, (int)((first + pad - r) / stride), (int)first, (int)r);
    }
    axis.source_step = 1;
    axis.source_tap = -1;
    axis.target_step = axis.weight_step = (int)stride;
    axis.source_size = (int)out;
    axis.target_size = (int)in;
    return axis;
}

static void set_layouts(struct implicit_gemm *gemm, struct shape source, bool source_last,
                        struct shape target, bool target_last)
{
    gemm->source_by_channel = source_last ? 1 : (uint32_t)shape_area(source);
    gemm->source_by_position = source_last ? (uint32_t)source.channels : 1;
    gemm->target_by_channel = target_last ? 1 : (uint32_t)shape_area(target);
    gemm->target_by_position = target_last ? (uint32_t)target.channels : 1;
}

struct implicit_gemm implicit_gemm_forward(const struct conv_shape *conv,
                                           const struct node *fused_move)
{
    const struct window *w = &conv->window;
    const size_t area = w->kernel_height * w->kernel_width;
    struct implicit_gemm gemm = {};
    gemm.down = axis_forward(conv->in.height, conv->out.height, w->kernel_height, w->stride_height,
                             w->pad_height);
    gemm.across = axis_forward(conv->in.width, conv->out.width, w->kernel_width, w->stride_width,
                               w->pad_width);
    gemm.images = (uint32_t)conv->batch;
    gemm.groups = (uint32_t)conv->groups;
    gemm.rows = (uint32_t)(conv->out.channels / conv->groups);
    gemm.channels = (uint32_t)(conv->in.channels / conv->groups);
    gemm.by_row = (uint32_t)(gemm.channels * area);
    gemm.by_group = gemm.rows * gemm.by_row;
    gemm.by_channel = (uint32_t)area;
    gemm.window_width = (uint32_t)w->kernel_width;
    gemm.by_tap = 1;
    gemm.window_taps = (uint32_t)area;
    gemm.by_channels = divisor_of(gemm.channels);
    gemm.source_moves = moves_of(fused_move, conv->in.channels);
    gemm.target_moves = moves_of(NULL, conv->out.channels);
    set_layouts(&gemm, conv->in, conv->in_last, conv->out, conv->out_last);
    return gemm;
}

struct implicit_gemm implicit_gemm_backward(const struct conv_shape *conv,
                                            const struct node *fused_move, size_t first_y,
                                            size_t first_x)
{
    const struct window *w = &conv->window;
    const size_t area = w->kernel_height * w->kernel_width;
    struct implicit_gemm gemm = {};
    gemm.down = axis_back(conv->in.height, conv->out.height, w->kernel_height, w->stride_height,
                          w->pad_height, first_y);
    gemm.across = axis_back(conv->in.width, conv->out.width, w->kernel_width, w->stride_width,
                            w->pad_width, first_x);
    gemm.images = (uint32_t)conv->batch;
    gemm.groups = (uint32_t)conv->groups;
    gemm.rows = (uint32_t)(conv->in.channels / conv->groups);
    gemm.channels = (uint32_t)(conv->out.channels / conv->groups);
    gemm.by_row = (uint32_t)area;
    gemm.by_channel = (uint32_t)(gemm.rows * area);
    gemm.by_group = gemm.channels * gemm.by_channel;
    gemm.window_width = (uint32_t)w->kernel_width;
    gemm.by_tap = 1;
    gemm.window_taps = (uint32_t)area;
    gemm.by_channels = divisor_of(gemm.channels);
    gemm.source_moves = moves_of(NULL, conv->out.channels);
    gemm.target_moves = moves_of(fused_move, conv->in.channels);
    set_layouts(&gemm, conv->out, conv->out_last, conv->in, conv->in_last);
    return gemm;
}

/* --- tiled --- */

/* The values of tile T that a thread loads: the weights of one term for several rows, and the
 * source values of one term, which may be another one, for several columns. */
template <class T> struct gemm_load {
    int weight_term, weight_row, value_term, value_column;
    struct gemm_column columns[T::VALUES];
    float weights[T::WEIGHTS], values[T::VALUES];
};

template <class T>
static __device__ __forceinline__ void
load_begin(struct gemm_load<T> *load, const struct implicit_gemm *w, const struct gemm_block *block,
           uint32_t first_column)
{
    const int thread = (int)threadIdx.x;
    load->weight_term = thread % T::K;
    load->weight_row = thread / T::K;
    load->value_term = thread / T::THREADS_PER_K;
    load->value_column = thread % T::THREADS_PER_K;
#pragma unroll
    for (int v = 0; v < T::VALUES; v++) {
        const uint32_t column = first_column + load->value_column + v * T::THREADS_PER_K;
        load->columns[v] =
            gemm_column_of(w, block, column < block->columns ? column : first_column);
    }
}

template <class T>
static __device__ __forceinline__ void
bring_weights(struct gemm_load<T> *load, const struct implicit_gemm *w,
              const struct gemm_block *block, const float *weight, uint32_t first_row,
              uint32_t first_term)
{
    const uint32_t number = first_term + load->weight_term;
    const bool inside = number < block->terms;
    const struct gemm_term term = gemm_term_of(w, block, inside ? number : 0);
    const float *at = weight + (size_t)block->group * w->by_group + term.weight;
#pragma unroll
    for (int k = 0; k < T::WEIGHTS; k++) {
        const uint32_t row = first_row + load->weight_row + k * T::THREADS_PER_K;
        load->weights[k] = inside && row < w->rows ? __ldg(&at[row * w->by_row]) : 0.0f;
    }
}

template <class T, bool MOVED>
static __device__ __forceinline__ void
bring_values(struct gemm_load<T> *load, const struct implicit_gemm *w,
             const struct gemm_block *block, const float *source, uint32_t first_term)
{
    const uint32_t number = first_term + load->value_term;
    const bool inside = number < block->terms;
    const struct gemm_term term = gemm_term_of(w, block, inside ? number : 0);
    const uint32_t image =
        w->groups * w->channels * (uint32_t)(w->down.source_size * w->across.source_size);
#pragma unroll
    for (int v = 0; v < T::VALUES; v++) {
        const int at = gemm_source_index<MOVED>(w, block, &load->columns[v], &term);
        load->values[v] = inside && at >= 0
                              ? __ldg(&source[load->columns[v].image * image + (uint32_t)at])
                              : 0.0f;
    }
}

template <class A>
static __device__ __forceinline__ void store_to_shared(const struct gemm_load<typename A::T> *load,
                                                       typename A::memory *memory, int buffer)
{
    typedef typename A::T T;
#pragma unroll
    for (int k = 0; k < T::WEIGHTS; k++)
        memory->left[buffer][load->weight_term][load->weight_row + k * T::THREADS_PER_K] =
            A::convert(load->weights[k]);
#pragma unroll
    for (int v = 0; v < T::VALUES; v++)
        memory->right[buffer][load->value_term][load->value_column + v * T::THREADS_PER_K] =
            A::convert(load->values[v]);
}

/* Computes one part of the product in float32. A is plain_products<tile>: the sizes of the tile,
 * and how its values are stored and multiplied. MOVED: `source` is read through a channel move. */
template <class A, bool MOVED>
static __global__ void __launch_bounds__(A::T::THREADS, A::BLOCKS)
    gemm_tiled(const __grid_constant__ struct implicit_gemm w, const float *weight,
               const float *source, const struct gemm_result result)
{
    typedef typename A::T T;
    __shared__ typename A::memory memory;
    struct gemm_part part = gemm_part_of<T>(&result);
    struct gemm_block block = gemm_block_of(&w, part.z);
    const uint32_t first_column = blockIdx.x * T::COLUMNS, first_row = blockIdx.y * T::ROWS;
    if (first_column >= block.columns) /* another phase has more columns */
        return;
    gemm_part_limit(&part, block.terms);
    block.terms = part.end; /* no term is loaded from there on */
    typename A::sums sums;
    struct gemm_load<T> load;
    A::begin(&sums);
    load_begin<T>(&load, &w, &block, first_column);
    bring_weights<T>(&load, &w, &block, weight, first_row, part.first);
    bring_values<T, MOVED>(&load, &w, &block, source, part.first);
    store_to_shared<A>(&load, &memory, 0);
    __syncthreads();
    int buffer = 0;
    for (uint32_t next = part.first + T::K; next < block.terms + T::K; next += T::K) {
        if (next < block.terms) {
            bring_weights<T>(&load, &w, &block, weight, first_row, next);
            bring_values<T, MOVED>(&load, &w, &block, source, next);
        }
        A::add(&sums, &memory, buffer);
        buffer ^= 1;
        if (next < block.terms)
            store_to_shared<A>(&load, &memory, buffer);
        __syncthreads();
    }
    if (!gemm_join<T::SIDE * T::SIDE, T::THREADS>(&result, &sums.of[0][0]))
        return;
    A::end(&sums, &memory, [&](int row, int column, float sum) {
        if (first_row + row >= w.rows || first_column + column >= block.columns)
            return;
        const struct gemm_column at = gemm_column_of(&w, &block, first_column + column);
        gemm_store<MOVED>(&w, &block, &at, first_row + row, sum, &result);
    });
}

/* --- sliced --- */

/* A block of eight warps computes 32 x 32 of the target. A lane sums 4 rows x 8 columns. */
enum { SLICE = 32, SLICE_TERMS = 8, SLICES = BLOCK_WARPS };

struct slice_tile {
    enum { ROWS = SLICE, COLUMNS = SLICE };
};

struct alignas(16) slice_memory {
    float weights[SLICE_TERMS][SLICE + 4];
    float values[SLICE_TERMS][SLICE + 4];
};

union slices_memory {
    struct slice_memory of_warps[SLICES];
    float sums[SLICES][SLICE * SLICE];
};

/* Loads SLICE_TERMS terms from `first` on: a lane loads the values of one column, and the weights
 * of one term in every fourth row. */
template <bool MOVED>
static __device__ __forceinline__ void
bring_slice(const struct implicit_gemm *w, const struct gemm_block *block,
            const struct gemm_column *column, bool column_inside, const float *weight,
            const float *source, uint32_t first_row, uint32_t first, float *weights, float *values)
{
    const uint32_t lane = threadIdx.x % WARP, mine = first + lane % SLICE_TERMS;
    const struct gemm_term own = gemm_term_of(w, block, mine < block->terms ? mine : 0);
#pragma unroll
    for (uint32_t k = 0; k < SLICE_TERMS; k++) {
        const uint32_t row = first_row + lane / SLICE_TERMS + k * (WARP / SLICE_TERMS);
        weights[k] = mine < block->terms && row < w->rows
                         ? __ldg(&weight[row * w->by_row + own.weight])
                         : 0.0f;
        const uint32_t number = first + k;
        const struct gemm_term term = gemm_term_of(w, block, number < block->terms ? number : 0);
        const int at = gemm_source_index<MOVED>(w, block, column, &term);
        values[k] = column_inside && at >= 0 && number < block->terms ? __ldg(&source[at]) : 0.0f;
    }
}

static __device__ __forceinline__ void put_slice(struct slice_memory *memory, const float *weights,
                                                 const float *values)
{
    const uint32_t lane = threadIdx.x % WARP;
    __syncwarp(); /* the warp has read the previous values */
#pragma unroll
    for (uint32_t k = 0; k < SLICE_TERMS; k++) {
        memory->weights[lane % SLICE_TERMS][lane / SLICE_TERMS + k * (WARP / SLICE_TERMS)] =
            weights[k];
        memory->values[k][lane] = values[k];
    }
    __syncwarp();
}

static __device__ __forceinline__ void add_slice(const struct slice_memory *memory,
                                                 float sums[4][8])
{
    const uint32_t lane = threadIdx.x % WARP;
#pragma unroll
    for (uint32_t t = 0; t < SLICE_TERMS; t++) {
        const float4 a = *(const float4 *)&memory->weights[t][lane / 4 * 4];
        const float rows[4] = {a.x, a.y, a.z, a.w};
        float columns[8];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float4 b = *(const float4 *)&memory->values[t][lane % 4 * 4 + 16 * half];
            columns[4 * half] = b.x;
            columns[4 * half + 1] = b.y;
            columns[4 * half + 2] = b.z;
            columns[4 * half + 3] = b.w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 8; j++)
                sums[i][j] += rows[i] * columns[j];
    }
}

/* Adds the sums of the warps in order and stores them; a thread takes every 256th sum, all of the
 * same column. */
template <bool MOVED>
static __device__ __forceinline__ void
store_slices(const struct implicit_gemm *w, const struct gemm_block *block,
             const float sums[SLICES][SLICE * SLICE], uint32_t first_row, uint32_t first_column,
             const struct gemm_result *result)
{
    enum { COUNT = SLICE * SLICE / BLOCK };
    const uint32_t column = first_column + threadIdx.x % SLICE;
    float totals[COUNT] = {};
#pragma unroll
    for (int k = 0; k < COUNT; k++)
#pragma unroll
        for (int s = 0; s < SLICES; s++)
            totals[k] += sums[s][threadIdx.x + k * BLOCK];
    if (!gemm_join<COUNT, BLOCK>(result, totals) || column >= block->columns)
        return;
    const struct gemm_column at = gemm_column_of(w, block, column);
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const uint32_t row = first_row + (threadIdx.x + k * BLOCK) / SLICE;
        if (row < w->rows)
            gemm_store<MOVED>(w, block, &at, row, totals[k], result);
    }
}

template <bool MOVED>
static __global__ void __launch_bounds__(BLOCK)
    gemm_sliced(const __grid_constant__ struct implicit_gemm w, const float *weight,
                const float *source, const struct gemm_result result)
{
    __shared__ union slices_memory memory;
    struct gemm_part part = gemm_part_of<struct slice_tile>(&result);
    struct gemm_block block = gemm_block_of(&w, part.z);
    const uint32_t first_column = blockIdx.x * SLICE, first_row = blockIdx.y * SLICE;
    if (first_column >= block.columns)
        return;
    gemm_part_limit(&part, block.terms);
    block.terms = part.end; /* no term is loaded from there on */
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const bool inside = first_column + lane < block.columns;
    const struct gemm_column column =
        gemm_column_of(&w, &block, inside ? first_column + lane : first_column);
    const float *weights_of_group = weight + (size_t)block.group * w.by_group;
    const float *image = source + (size_t)column.image * w.groups * w.channels *
                                      (uint32_t)(w.down.source_size * w.across.source_size);
    float sums[4][8] = {}, weights[SLICE_TERMS], values[SLICE_TERMS];
    const uint32_t step = SLICES * SLICE_TERMS;
    uint32_t first = part.first + warp * SLICE_TERMS;
    bring_slice<MOVED>(&w, &block, &column, inside, weights_of_group, image, first_row, first,
                       weights, values);
    for (; first < block.terms; first += step) {
        put_slice(&memory.of_warps[warp], weights, values);
        bring_slice<MOVED>(&w, &block, &column, inside, weights_of_group, image, first_row,
                           first + step, weights, values);
        add_slice(&memory.of_warps[warp], sums);
    }
    __syncthreads(); /* from here on the warps' memory has their sums */
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 8; j++)
            memory.sums[warp][(lane / 4 * 4 + i) * SLICE + lane % 4 * 4 + j / 4 * 16 + j % 4] =
                sums[i][j];
    __syncthreads();
    store_slices<MOVED>(&w, &block, memory.sums, first_row, first_column, &result);
}

/* --- the choice --- */

typedef tile<128, 128, 8, 8> large_tile;
typedef tile<64, 64, 16, 4> small_tile;
typedef tile<32, 128, 16, 4> low_tile;
typedef tile<16, 128, 8, 4> lowest_tile;

/* The kernels in float32 of each enum gemm_tile. */
#define TILED(tile)                                                                                \
    {                                                                                              \
        tile::THREADS, gemm_tiled<plain_products<tile>, false>,                                    \
            gemm_tiled<plain_products<tile>, true>                                                 \
    }
static const struct {
    unsigned threads;
    gemm_kernel *still, *moved;
} kernels[GEMM_TILES] = {
    TILED(large_tile),
    TILED(small_tile),
    TILED(low_tile),
    TILED(lowest_tile),
    {BLOCK, gemm_sliced<false>, gemm_sliced<true>},
};

/* Returns the kernel on tensor cores, and sets *threads; NULL: there is none. If it reads weights
 * that are packed, *packs is set. */
static gemm_kernel *tensor_kernel(const struct implicit_gemm *gemm, enum cuda_precision precision,
                                  enum gemm_tile tile, const float *weight, const float *source,
                                  const struct gemm_workspace *workspace, unsigned *threads,
                                  bool *packs)
{
    const size_t rows = gemm_tile_sizes[tile].rows;
    gemm_kernel *kernel = NULL;
    *packs = false;
    if (precision == CUDA_FLOAT32)
        return NULL;
    if (tile <= GEMM_LOW && workspace->packed)
        kernel = implicit_gemm_last(gemm, precision, rows, source, threads);
    *packs = kernel;
    if (!kernel && tile <= GEMM_SMALL)
        kernel = implicit_gemm_tensor(gemm, precision, rows, weight, source, threads);
    return kernel;
}

bool implicit_gemm_uses_tensor(const struct cuda_context *context, const struct implicit_gemm *gemm,
                               bool packed)
{
    float some = 0;
    const struct gemm_workspace workspace = {packed ? &some : NULL, NULL};
    unsigned threads;
    bool packs;
    const enum gemm_tile tile =
        gemm_divide(gemm, gather_is_wide_by_channels(gemm, NULL) ? GEMM_TENSOR_LAST : GEMM_TENSOR)
            .tile;
    return tensor_kernel(gemm, context->precision, tile, NULL, NULL, &workspace, &threads, &packs);
}

void implicit_gemm_run(struct cuda_context *context, const char *what,
                       const struct implicit_gemm *gemm, const float *weight, const float *source,
                       const struct gemm_workspace *workspace, const struct gemm_result *result)
{
    const bool last = gather_is_wide_by_channels(gemm, source);
    const struct gemm_division division =
        gemm_divide(gemm, context->precision == CUDA_FLOAT32 ? GEMM_FLOAT32
                          : last                             ? GEMM_TENSOR_LAST
                                                             : GEMM_TENSOR);
    const bool moves = gemm->source_moves.shuffles || gemm->source_moves.shifts ||
                       gemm->target_moves.shuffles || gemm->target_moves.shifts ||
                       gemm->source_by_position != 1 || gemm->target_by_position != 1;
    struct implicit_gemm order = *gemm;
    struct gemm_result to = *result;
    unsigned threads = kernels[division.tile].threads;
    bool packs;
    gemm_kernel *kernel = tensor_kernel(gemm, context->precision, division.tile, weight, source,
                                        workspace, &threads, &packs);
    dim3 grid = gemm_grid(gemm, division.tile);
    if (packs)
        weight = implicit_gemm_pack(context, &order, weight, workspace->packed);
    if (!kernel)
        kernel = moves ? kernels[division.tile].moved : kernels[division.tile].still;
    to.parts = division.parts;
    to.part_terms = division.part_terms;
    to.partial = workspace->partial;
    to.arrivals = context->arrivals;
    grid.z *= division.parts;
    if (grid.x > 0)
        launch(context, what, kernel, grid, threads, 0, order, weight, source, to);
}
