/* The gradients of the weights of 1x1 and 3x3 convolutions with few channels, in float32.
 *
 *   weights[k, c, tap] = sum over positions p of small[k, p] * large[c, p under the tap]
 *
 * There are few weights and many positions, so each warp holds all weights of 16 x 16 channels, and
 * the warps share the positions. A lane has 4 x 2 channels and all taps in registers: 72 sums for
 * 3x3. For four positions of a row it loads four values of each of its channels of `small` and, for
 * each row of the window, what four neighbouring windows read of its channels of `large`: 288
 * products for some twenty loads. An implicit GEMM (conv_weights.cu) would load an operand for each
 * tap.
 *
 * A block stages chunks of positions in shared memory: some rows of an image, or some whole images.
 * In its rows of `large`, four zeros come before each row, and after the last one, for the padding.
 * The blocks of a tile of channels have parts of the chunks, and another launch adds their sums.
 */
#include "engine/devices/cuda/conv_tensor.h"

#include <algorithm>

enum {
    CHANNELS = 16, /* of a tile, on both sides */
    SMALL_LANES = 4,
    LARGE_LANES = 8,
    SMALLS = CHANNELS / SMALL_LANES, /* channels of a lane */
    LARGES = CHANNELS / LARGE_LANES,
    FOUR = 4,                 /* positions of a step, and zeros before a row */
    CHUNK_FLOATS = 12 * 1024, /* shared memory of a block */
    MOST_SMALL = 64,          /* channels for which this kernel is used */
    MOST_LARGE = 128,
};

/* The chunks of a batch, and how one lies in shared memory: large[channel][image][row][pitch], of
 * which the first values are zeros, then small[channel][image][row][out_width]. */
struct staging {
    struct divisor down;               /* chunks of an image */
    struct divisor images, rows;       /* of a chunk, in the output */
    struct divisor large_rows;         /* of an image of a chunk */
    struct divisor fours, large_fours; /* groups of four values of a row */
    uint32_t batch, smalls, larges;    /* images and channels */
    int in_height, out_height;
    uint32_t pitch, large_step, small_step; /* floats of a row, of a channel */
    uint32_t chunks, part_chunks, parts;
};

template <int K_, int S_> struct direct_window {
    enum { K = K_, S = S_, TAPS = K * K, PAD = K / 2, SUMS = SMALLS * LARGES * TAPS };
    /* Returns the rows of the input that `rows` rows of the output read; a 1x1 window skips some.
     */
    static __host__ __device__ __forceinline__ uint32_t rows_read(uint32_t rows)
    {
        return K == 1 ? rows : (rows - 1) * S + K;
    }
};

/* --- a chunk into shared memory --- */

/* Returns the four values from `at` on, or zeros if not `inside`. */
static __device__ __forceinline__ float4 load_four(const float *array, bool inside, size_t at)
{
    return inside ? __ldg((const float4 *)(array + at)) : make_float4(0, 0, 0, 0);
}

template <class W>
static __device__ __forceinline__ void load_large(const struct staging *staging, const float *large,
                                                  float *memory, uint32_t first_image,
                                                  int first_row, uint32_t first_channel)
{
    const uint32_t count =
        CHANNELS * staging->images.value * staging->large_rows.value * staging->large_fours.value;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += BLOCK) {
        uint32_t four, row, image;
        const uint32_t line = divide_rest(i, staging->large_fours, &four);
        const uint32_t channel =
            divide_rest(divide_rest(line, staging->large_rows, &row), staging->images, &image);
        const int y = W::K == 1 ? first_row + (int)row * W::S : first_row + (int)row;
        const uint32_t c = first_channel + channel, n = first_image + image;
        const bool inside =
            c < staging->larges && n < staging->batch && (uint32_t)y < (uint32_t)staging->in_height;
        const size_t at =
            (((size_t)n * staging->larges + c) * (size_t)staging->in_height + (size_t)y) *
                (FOUR * staging->large_fours.value) +
            FOUR * four;
        *(float4 *)&memory[channel * staging->large_step +
                           (image * staging->large_rows.value + row) * staging->pitch + FOUR +
                           FOUR * four] = load_four(large, inside, at);
    }
}

static __device__ __forceinline__ void load_small(const struct staging *staging, const float *small,
                                                  float *memory, uint32_t first_image,
                                                  int first_row, uint32_t first_channel)
{
    const uint32_t count =
        CHANNELS * staging->images.value * staging->rows.value * staging->fours.value;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < count; i += BLOCK) {
        uint32_t four, row, image;
        const uint32_t line = divide_rest(i, staging->fours, &four);
        const uint32_t channel =
            divide_rest(divide_rest(line, staging->rows, &row), staging->images, &image);
        const int y = first_row + (int)row;
        const uint32_t k = first_channel + channel, n = first_image + image;
        const bool inside = k < staging->smalls && n < staging->batch && y < staging->out_height;
        const size_t at =
            (((size_t)n * staging->smalls + k) * (size_t)staging->out_height + (size_t)y) *
                (FOUR * staging->fours.value) +
            FOUR * four;
        *(float4 *)&memory[channel * staging->small_step +
                           ((image * staging->rows.value + row) * staging->fours.value + four) *
                               FOUR] = load_four(small, inside, at);
    }
}

/* --- products --- */

template <class W> struct direct_sums {
    float of[SMALLS][LARGES][W::TAPS];
};

/* The values of a row that four neighbouring windows read, from the first one's first value on. */
template <class W> struct direct_row {
    float of[3 * W::S + W::K];
};

template <class W>
static __device__ __forceinline__ void load_row(const float *at, struct direct_row<W> *row)
{
    const float4 a = *(const float4 *)at;
    row->of[W::PAD] = a.x;
    row->of[W::PAD + W::S] = W::S == 1 ? a.y : a.z;
    if (W::S == 1) {
        row->of[W::PAD + 2] = a.z;
        row->of[W::PAD + 3] = a.w;
    } else {
        const float4 b = *(const float4 *)(at + 4);
        row->of[W::PAD + 2 * W::S] = b.x;
        row->of[W::PAD + 3 * W::S] = b.z;
        if (W::K == 3) {
            row->of[2] = a.y;
            row->of[4] = a.w;
            row->of[6] = b.y;
            row->of[3 * W::S + 2] = b.w;
        }
    }
    if (W::K == 3)
        row->of[0] = at[-1];
    if (W::K == 3 && W::S == 1)
        row->of[3 * W::S + W::K - 1] = at[4];
}

/* Adds the products of four positions; `large` is the lane's first value under the middle tap of
 * the window's first row. */
template <class W>
static __device__ __forceinline__ void add_four(struct direct_sums<W> *sums,
                                                const struct staging *staging, const float *small,
                                                const float *large)
{
    float4 g[SMALLS];
#pragma unroll
    for (int i = 0; i < SMALLS; i++)
        g[i] = *(const float4 *)&small[(uint32_t)(i * SMALL_LANES) * staging->small_step];
#pragma unroll
    for (int r = 0; r < W::K; r++)
#pragma unroll
        for (int j = 0; j < LARGES; j++) {
            struct direct_row<W> row;
            load_row<W>(&large[(uint32_t)(j * LARGE_LANES) * staging->large_step +
                               (uint32_t)r * staging->pitch],
                        &row);
#pragma unroll
            for (int s = 0; s < W::K; s++)
#pragma unroll
                for (int i = 0; i < SMALLS; i++) {
                    float *sum = &sums->of[i][j][r * W::K + s];
                    *sum += g[i].x * row.of[s];
                    *sum += g[i].y * row.of[s + W::S];
                    *sum += g[i].z * row.of[s + 2 * W::S];
                    *sum += g[i].w * row.of[s + 3 * W::S];
                }
        }
}

/* Adds the products of the chunk in shared memory; the warps take the steps in turn. */
template <class W>
static __device__ __forceinline__ void add_chunk(struct direct_sums<W> *sums,
                                                 const struct staging *staging, const float *memory)
{
    const uint32_t lane = threadIdx.x % WARP,
                   steps = staging->images.value * staging->rows.value * staging->fours.value;
    const float *large = memory + lane % LARGE_LANES * staging->large_step + FOUR;
    const float *small =
        memory + CHANNELS * staging->large_step + lane / LARGE_LANES * staging->small_step;
#pragma unroll 1
    for (uint32_t step = threadIdx.x / WARP; step < steps; step += BLOCK_WARPS) {
        uint32_t four, y;
        const uint32_t image =
            divide_rest(divide_rest(step, staging->fours, &four), staging->rows, &y);
        const uint32_t row = image * staging->large_rows.value + y * (W::K == 1 ? 1 : W::S);
        add_four<W>(sums, staging, small + FOUR * step,
                    large + row * staging->pitch + FOUR * W::S * four);
    }
}

/* --- the sums of a block --- */

/* Adds the sums of all warps, in a fixed order, to those of the first one. */
template <class W>
static __device__ __forceinline__ void add_warps(struct direct_sums<W> *sums, float *memory)
{
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *mine = &sums->of[0][0][0];
    for (uint32_t half = BLOCK_WARPS / 2; half > 0; half /= 2) {
        float *at = &memory[(warp % half) * W::SUMS * WARP + lane];
        __syncthreads();
        if (warp >= half && warp < 2 * half)
#pragma unroll
            for (int i = 0; i < W::SUMS; i++)
                at[i * WARP] = mine[i];
        __syncthreads();
        if (warp < half)
#pragma unroll
            for (int i = 0; i < W::SUMS; i++)
                mine[i] += at[i * WARP];
    }
}

template <class W>
static __device__ __forceinline__ void
store_sums(const struct staging *staging, const struct direct_sums<W> *sums, float *memory,
           uint32_t first_small, uint32_t first_large, float *weights)
{
    const uint32_t lane = threadIdx.x % WARP;
    __syncthreads();
    if (threadIdx.x < WARP)
#pragma unroll
        for (int i = 0; i < SMALLS; i++)
#pragma unroll
            for (int j = 0; j < LARGES; j++)
#pragma unroll
                for (int tap = 0; tap < W::TAPS; tap++)
                    memory[((lane / LARGE_LANES + i * SMALL_LANES) * CHANNELS + lane % LARGE_LANES +
                            j * LARGE_LANES) *
                               W::TAPS +
                           tap] = sums->of[i][j][tap];
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < CHANNELS * CHANNELS * W::TAPS; i += BLOCK) {
        const uint32_t k = first_small + i / (CHANNELS * W::TAPS);
        const uint32_t term = first_large * W::TAPS + i % (CHANNELS * W::TAPS);
        if (k < staging->smalls && term < staging->larges * W::TAPS)
            weights[(size_t)k * staging->larges * W::TAPS + term] = memory[i];
    }
}

template <class W>
static __global__ void __launch_bounds__(BLOCK, 2)
    add_weights_directly(const float *small, const float *large, float *weights,
                         const __grid_constant__ struct staging staging)
{
    alignas(16) __shared__ float memory[CHUNK_FLOATS];
    const uint32_t first_large = blockIdx.x * CHANNELS, first_small = blockIdx.y * CHANNELS;
    const uint32_t begin = blockIdx.z * staging.part_chunks,
                   end = min(begin + staging.part_chunks, staging.chunks);
    struct direct_sums<W> sums;
#pragma unroll
    for (int i = 0; i < W::SUMS; i++)
        (&sums.of[0][0][0])[i] = 0;
    for (uint32_t i = threadIdx.x; i < CHUNK_FLOATS; i += BLOCK)
        memory[i] = 0;
    for (uint32_t chunk = begin; chunk < end; chunk++) {
        uint32_t down;
        const uint32_t image = divide_rest(chunk, staging.down, &down) * staging.images.value;
        const int row = (int)(down * staging.rows.value);
        __syncthreads();
        load_large<W>(&staging, large, memory, image, row * W::S - W::PAD, first_large);
        load_small(&staging, small, memory + CHANNELS * staging.large_step, image, row,
                   first_small);
        __syncthreads();
        add_chunk<W>(&sums, &staging, memory);
    }
    add_warps<W>(&sums, memory);
    store_sums<W>(&staging, &sums, memory, first_small, first_large,
                  weights + (size_t)blockIdx.z * staging.smalls * staging.larges * W::TAPS);
}

/* --- the choice --- */

typedef void direct_kernel(const float *, const float *, float *, const struct staging);

static const struct direct_choice {
    size_t kernel, stride;
    direct_kernel *run;
} choices[] = {
    {3, 1, add_weights_directly<direct_window<3, 1>>},
    {3, 2, add_weights_directly<direct_window<3, 2>>},
    {1, 1, add_weights_directly<direct_window<1, 1>>},
    {1, 2, add_weights_directly<direct_window<1, 2>>},
};

/* Returns the kernel for the convolution; NULL if there is none. */
static const struct direct_choice *choose(const struct conv_shape *conv)
{
    const struct window *w = &conv->window;
    if (conv->groups != 1 || conv->in_last || conv->out_last || conv->in.width % FOUR ||
        conv->out.width % FOUR || conv->out.channels > MOST_SMALL || conv->in.channels > MOST_LARGE)
        return NULL;
    for (const struct direct_choice &c : choices)
        if (w->kernel_height == c.kernel && w->kernel_width == c.kernel &&
            w->stride_height == c.stride && w->stride_width == c.stride &&
            w->pad_height == c.kernel / 2 && w->pad_width == c.kernel / 2)
            return &c;
    return NULL;
}

static size_t tiles_of(const struct conv_shape *conv)
{
    return (size_t)blocks_for(conv->out.channels, CHANNELS) *
           blocks_for(conv->in.channels, CHANNELS);
}

/* Returns the blocks of one tile of channels that the GPU runs at once. */
static size_t most_parts(const struct conv_shape *conv, const struct direct_choice *choice)
{
    static std::atomic<unsigned> of_one[sizeof choices / sizeof *choices];
    const size_t resident = resident_blocks(choice->run, BLOCK, &of_one[choice - choices]);
    return std::max(resident / tiles_of(conv), (size_t)1);
}

/* Returns the floats of a channel: of FOUR * an odd number, so that the channels of the lanes lie
 * in other banks. */
static size_t odd_fours(size_t floats)
{
    return floats % (2 * FOUR) == 0 ? floats + FOUR : floats;
}

static size_t large_rows(const struct direct_choice *choice, size_t rows)
{
    return choice->kernel == 1 ? rows : (rows - 1) * choice->stride + choice->kernel;
}

static size_t large_floats(const struct conv_shape *conv, const struct direct_choice *choice,
                           size_t images, size_t rows)
{
    return odd_fours(images * large_rows(choice, rows) * (conv->in.width + FOUR) + FOUR);
}

static size_t small_floats(const struct conv_shape *conv, size_t images, size_t rows)
{
    return odd_fours(images * rows * conv->out.width);
}

static bool chunk_fits(const struct conv_shape *conv, const struct direct_choice *choice,
                       size_t images, size_t rows)
{
    return CHANNELS *
               (large_floats(conv, choice, images, rows) + small_floats(conv, images, rows)) <=
           CHUNK_FLOATS;
}

/* Sets the rows of the output and the images of a chunk: equal chunks of as many rows as fit or,
 * if whole images fit, of as many images as leave a chunk to each block. Returns false if nothing
 * fits. */
static bool size_chunk(const struct conv_shape *conv, const struct direct_choice *choice,
                       size_t *images, size_t *rows)
{
    const size_t height = conv->out.height, wanted = conv->batch / most_parts(conv, choice);
    *images = 1;
    *rows = height;
    while (*rows > 0 && !chunk_fits(conv, choice, 1, *rows))
        --*rows;
    if (*rows == 0)
        return false;
    const size_t chunks = blocks_for(height, *rows);
    *rows = blocks_for(height, chunks);
    while (chunks == 1 && *images < wanted && chunk_fits(conv, choice, *images + 1, *rows))
        ++*images;
    return true;
}

static struct staging staging_of(const struct conv_shape *conv, const struct direct_choice *choice,
                                 size_t images, size_t rows)
{
    const size_t down = blocks_for(conv->out.height, rows);
    const size_t chunks = blocks_for(conv->batch, images) * down;
    const size_t part_chunks = blocks_for(chunks, most_parts(conv, choice));
    return {divisor_of(down),
            divisor_of(images),
            divisor_of(rows),
            divisor_of(large_rows(choice, rows)),
            divisor_of(conv->out.width / FOUR),
            divisor_of(conv->in.width / FOUR),
            (uint32_t)conv->batch,
            (uint32_t)conv->out.channels,
            (uint32_t)conv->in.channels,
            (int)conv->in.height,
            (int)conv->out.height,
            (uint32_t)conv->in.width + FOUR,
            (uint32_t)large_floats(conv, choice, images, rows),
            (uint32_t)small_floats(conv, images, rows),
            (uint32_t)chunks,
            (uint32_t)part_chunks,
            blocks_for(chunks, part_chunks)};
}

size_t weights_direct_workspace(const struct conv_shape *conv)
{
    size_t images, rows;
    const struct direct_choice *choice = choose(conv);
    if (!choice || !size_chunk(conv, choice, &images, &rows))
        return 0;
    /* the bound counts chunks of one image, since a smaller batch may have fewer images in a chunk
     */
    const size_t chunks = conv->batch * blocks_for(conv->out.height, rows);
    return std::min(chunks, most_parts(conv, choice)) * conv->out.channels * conv->in.channels *
           choice->kernel * choice->kernel * sizeof(float);
}

bool weights_direct_run(struct cuda_context *context, const char *what,
                        const struct conv_shape *conv, const struct weight_gradients *gradients,
                        float *workspace)
{
    size_t images, rows;
    const struct direct_choice *choice = choose(conv);
    if (!choice || gradients->bias || gradients->fused_move || !aligned16(gradients->small) ||
        !aligned16(gradients->large) || !size_chunk(conv, choice, &images, &rows))
        return false;
    const struct staging staging = staging_of(conv, choice, images, rows);
    launch(context, what, choice->run,
           dim3(blocks_for(conv->in.channels, CHANNELS), blocks_for(conv->out.channels, CHANNELS),
                staging.parts),
           BLOCK, 0, gradients->small, gradients->large,
           staging.parts > 1 ? workspace : gradients->weights, staging);
    if (staging.parts > 1)
        sum_parts(context, what, workspace, staging.parts, conv->out.channels,
                  conv->in.channels * choice->kernel * choice->kernel, gradients->weights, NULL);
    return true;
}
