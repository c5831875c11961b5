/* implicit_gemm.h: convolution as one matrix product whose right side is never stored (implicit
 * GEMM). Only the convolution kernels use it.
 *
 *   target[n, row, ty, tx] = sum over channels c and taps (jy, jx) of
 *       weight[row, c, jy, jx] * source[n, c, y(ty, jy), x(tx, jx)]
 *
 * In the terms of a GEMM, M counts the rows (output channels), N the columns (positions (ty, tx) in
 * all images), and K the terms of the sum (channels and taps). Along an axis
 *
 *   source = t * source_step + source_first + j * source_tap
 *   target = t * target_step + target_first
 *   tap of the window = weight_first + j * weight_step
 *
 * The forward pass of a convolution is one such product, in which each t is an output position. The
 * gradient of its input is one product for each phase: the remainder of the input position, counted
 * from the padding, by the stride. All positions of a phase see the same taps, every stride-th of
 * the window, so that no zero is multiplied. A transposed convolution uses the first product for
 * its gradient and the second for its forward pass.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_IMPLICIT_GEMM_H
#define TINCA_ENGINE_DEVICES_CUDA_IMPLICIT_GEMM_H

#include "engine/devices/cuda/launch.h"
#include "engine/devices/cuda/moves.h"

/* The phases of an axis that one launch computes; wider strides need several launches. */
enum { GEMM_PHASES = 4 };

struct gemm_phase {
    struct divisor columns, taps; /* numbers of positions and taps; 1 if there are none */
    bool empty;                   /* there are no positions */
    bool untapped;                /* there are no taps: the target is zero */
    int source_first, target_first, weight_first;
};

struct gemm_axis {
    struct gemm_phase phases[GEMM_PHASES];
    int phase_count;
    int source_step, source_tap, target_step, weight_step;
    int source_size, target_size;
};

struct implicit_gemm {
    struct gemm_axis down, across;
    uint32_t images, groups;
    uint32_t rows, channels; /* channels of one group: of the target, of the source */
    /* weight[group * by_group + row * by_row + channel * by_channel + tap * by_tap], where tap
     * counts the window's elements row by row; a row has window_width of them */
    uint32_t by_group, by_row, by_channel, window_width;
    uint32_t by_tap, window_taps; /* by_tap is 1, or `channels` where weights are packed */
    struct divisor by_channels;   /* divides by `channels` */
    /* The strides of source and target in memory, in values: from one channel to the next, and from
     * one position of an image to the next. One of the two is 1. */
    uint32_t source_by_channel, source_by_position, target_by_channel, target_by_position;
    struct moves source_moves, target_moves;
};

/* The phase and group of a block, with the counts that its kernel uses often. */
struct gemm_block {
    struct gemm_phase down, across;
    uint32_t group, columns, terms;
};

static __host__ __device__ __forceinline__ struct gemm_block
gemm_block_of(const struct implicit_gemm *w, uint32_t z)
{
    struct gemm_block block;
    const uint32_t phases = (uint32_t)(w->down.phase_count * w->across.phase_count);
    const uint32_t phase = z % phases;
    block.group = z / phases;
    block.down = w->down.phases[phase / (uint32_t)w->across.phase_count];
    block.across = w->across.phases[phase % (uint32_t)w->across.phase_count];
    block.columns = block.down.empty || block.across.empty
                        ? 0
                        : w->images * block.down.columns.value * block.across.columns.value;
    block.terms = block.down.untapped || block.across.untapped
                      ? 0
                      : w->channels * block.down.taps.value * block.across.taps.value;
    return block;
}

/* A column: its image, its position, and where its window begins in the source. */
struct gemm_column {
    uint32_t image;
    int y, x; /* source position of tap (0, 0) */
    int ty, tx;
};

static __host__ __device__ __forceinline__ struct gemm_column
gemm_column_of(const struct implicit_gemm *w, const struct gemm_block *block, uint32_t column)
{
    uint32_t ty, tx;
    struct gemm_column at;
    at.image =
        divide_rest(divide_rest(column, block->across.columns, &tx), block->down.columns, &ty);
    at.ty = (int)ty;
    at.tx = (int)tx;
    at.y = at.ty * w->down.source_step + block->down.source_first;
    at.x = at.tx * w->across.source_step + block->across.source_first;
    return at;
}

/* A term: a channel of the group, and its tap as an offset in the source and in the weights. */
struct gemm_term {
    uint32_t channel, weight;
    int y, x;
};

static __host__ __device__ __forceinline__ struct gemm_term
gemm_term_of(const struct implicit_gemm *w, const struct gemm_block *block, uint32_t term)
{
    uint32_t jy, jx;
    struct gemm_term at;
    at.channel = divide_rest(divide_rest(term, block->across.taps, &jx), block->down.taps, &jy);
    at.y = (int)jy * w->down.source_tap;
    at.x = (int)jx * w->across.source_tap;
    const int ky = block->down.weight_first + (int)jy * w->down.weight_step;
    const int kx = block->across.weight_first + (int)jx * w->across.weight_step;
    at.weight =
        at.channel * w->by_channel + ((uint32_t)ky * w->window_width + (uint32_t)kx) * w->by_tap;
    return at;
}

/* Returns the index of a term's value in the source, from the start of an image, or -1 in the
 * padding and at the edge that a shift left free. MOVED means that a channel move is fused, or that
 * an array is channels-last. */
template <bool MOVED>
static __host__ __device__ __forceinline__ int
gemm_source_index(const struct implicit_gemm *w, const struct gemm_block *block,
                  const struct gemm_column *column, const struct gemm_term *term)
{
    const int height = w->down.source_size, width = w->across.source_size;
    int y = column->y + term->y, x = column->x + term->x;
    uint32_t channel = block->group * w->channels + term->channel;
    if ((unsigned)y >= (unsigned)height || (unsigned)x >= (unsigned)width)
        return -1;
    if (MOVED) {
        const struct move move = move_of(&w->source_moves, channel);
        channel = move.channel;
        y -= move.dy;
        x -= move.dx;
        if ((unsigned)y >= (unsigned)height || (unsigned)x >= (unsigned)width)
            return -1;
        return (int)(channel * w->source_by_channel) + (y * width + x) * (int)w->source_by_position;
    }
    return ((int)channel * height + y) * width + x;
}

/* Returns the index of the sum of a row and a column in the target. If *outside is set, a shift
 * moved that value out of the image, and the returned element gets 0. */
template <bool MOVED>
static __host__ __device__ __forceinline__ uint32_t
gemm_target_index(const struct implicit_gemm *w, const struct gemm_block *block,
                  const struct gemm_column *column, uint32_t row, bool *outside)
{
    const uint32_t height = (uint32_t)w->down.target_size, width = (uint32_t)w->across.target_size;
    const uint32_t channels = w->groups * w->rows;
    uint32_t y = (uint32_t)(column->ty * w->down.target_step + block->down.target_first);
    uint32_t x = (uint32_t)(column->tx * w->across.target_step + block->across.target_first);
    uint32_t channel = block->group * w->rows + row;
    *outside = false;
    if (MOVED) {
        bool beyond_y, beyond_x;
        const struct move move = move_of(&w->target_moves, channel);
        channel = move.channel;
        y = move_back(y, move.dy, height, &beyond_y);
        x = move_back(x, move.dx, width, &beyond_x);
        *outside = beyond_y || beyond_x;
        return column->image * channels * height * width + channel * w->target_by_channel +
               (y * width + x) * w->target_by_position;
    }
    return ((column->image * channels + channel) * height + y) * width + x;
}

/* --- the products of a convolution from `in` to `out` --- */

struct conv_shape {
    struct shape in, out;
    struct window window;
    size_t groups, batch;
    bool in_last, out_last; /* the array is channels-last */
};

/* Returns the product that computes `out` from `in`. The weights are [out, in / groups, window]. */
struct implicit_gemm implicit_gemm_forward(const struct conv_shape *conv,
                                           const struct node *fused_move);

/* Returns the product that computes the gradient of `in` from that of `out`, for the phases
 * [first_y, first_y + GEMM_PHASES) down and [first_x, first_x + GEMM_PHASES) across. */
struct implicit_gemm implicit_gemm_backward(const struct conv_shape *conv,
                                            const struct node *fused_move, size_t first_y,
                                            size_t first_x);

/* The destination of the sums. */
struct gemm_result {
    const float *bias; /* NULL: none */
    float *at;
    bool accumulate;
    bool rectify; /* a fused relu; not with `accumulate` */
    /* the parts of the sums (gemm_split.h): implicit_gemm_run sets them */
    uint32_t parts, part_terms;
    float *partial;     /* the sums of each part; not used with one part */
    unsigned *arrivals; /* of the blocks of a tile */
};

/* Returns a sum with bias and relu, as it is stored. */
static __device__ __forceinline__ float gemm_finish(const struct gemm_result *result, float sum)
{
    return result->rectify && sum < 0 ? 0.0f : sum; /* NaN stays NaN */
}

/* Stores the sum of a row and a column. */
template <bool MOVED>
static __device__ __forceinline__ void gemm_store(const struct implicit_gemm *w,
                                                  const struct gemm_block *block,
                                                  const struct gemm_column *column, uint32_t row,
                                                  float sum, const struct gemm_result *result)
{
    bool outside;
    const uint32_t at = gemm_target_index<MOVED>(w, block, column, row, &outside);
    if (result->bias)
        sum += result->bias[block->group * w->rows + row];
    gradient_store(&result->at[at], result->accumulate, outside ? 0.0f : gemm_finish(result, sum));
}

/* Does the same for the column with this number; nothing if row or column lie beyond the product.
 */
static __device__ __forceinline__ void gemm_store_numbered(const struct implicit_gemm *w,
                                                           const struct gemm_block *block,
                                                           uint32_t row, uint32_t column, float sum,
                                                           const struct gemm_result *result)
{
    if (row >= w->rows || column >= block->columns)
        return;
    const struct gemm_column at = gemm_column_of(w, block, column);
    gemm_store<true>(w, block, &at, row, sum, result);
}

/* The workspace of a product. */
struct gemm_workspace {
    float *packed;  /* NULL, or room for all weights, for a copy of them in the order of a
                       channels-last source (implicit_gemm_last.cu): below float32 */
    float *partial; /* implicit_gemm_workspace() bytes, a multiple of 16 from the start of the
                       workspace, for the sums of parts */
};

/* Returns whether the product is computed on tensor cores, if arrays are aligned as usual: in the
 * precision of the context, which is below float32, but with few rows in float32. `packed`: the
 * workspace has room for packed weights. */
bool implicit_gemm_uses_tensor(const struct cuda_context *context, const struct implicit_gemm *gemm,
                               bool packed);

/* Queues the product. */
void implicit_gemm_run(struct cuda_context *context, const char *what,
                       const struct implicit_gemm *gemm, const float *weight, const float *source,
                       const struct gemm_workspace *workspace, const struct gemm_result *result);

/* Returns the bytes for the sums of parts (gemm_split.cu), for this batch and any smaller one, of
 * the products that compute `out` or, if `backward`, the gradient of `in`. */
size_t implicit_gemm_workspace(const struct conv_shape *conv, bool backward);

/* --- weights in the order of channels-last values: implicit_gemm_last.cu --- */

/* Queues a copy of the weights to `packed` in which the channels of a tap are neighbours,
 * [rows, taps, channels] in each group, and makes *w describe it. Returns the copy, or `weight` if
 * its channels are neighbours already. */
const float *implicit_gemm_pack(struct cuda_context *context, struct implicit_gemm *w,
                                const float *weight, float *packed);

/* Queues the reverse of the copy that implicit_gemm_pack would make with *w. */
void implicit_gemm_unpack(struct cuda_context *context, const struct implicit_gemm *w,
                          const float *packed, float *weight);

/* --- gradients of the weights: conv_weights.cu --- */

/* weights[o, i, window] = sum over images and positions p of `out` of small[n, o, p] * large[n, i,
 * p under the tap], where `large` is the convolution's input and `small` its output's gradient.
 * `bias` receives the sums of the channels of `small`, which is for float32 only. `weights` and
 * `bias` may be NULL. */
struct weight_gradients {
    const float *small, *large;
    float *weights, *bias;
    const struct node *fused_move; /* the fused channel move of `large`, or NULL */
};

/* Returns whether the sums of weights' gradients are products on tensor cores, as
 * implicit_gemm_uses_tensor does. */
bool weight_gradients_use_tensor(const struct cuda_context *context, const struct conv_shape *conv);

/* Returns the bytes of workspace; `bias` says whether `small` may be summed for a bias. */
size_t weight_gradients_workspace(const struct conv_shape *conv, bool bias);

/* Queues the sums. */
void weight_gradients_run(struct cuda_context *context, const char *what,
                          const struct conv_shape *conv, const struct weight_gradients *gradients,
                          float *workspace);

/* Returns the number of parts of a sum over `positions` when `blocks` blocks compute one part and
 * the GPU runs `resident` blocks at once. It does not fall when positions are added. */
size_t split_count(size_t blocks, size_t positions, size_t resident);

/* Queues the sums of parts[part][o][terms], in order, into weights[o, t], which may be NULL. If
 * `bias` is not NULL, a row has one more term, whose sum goes to bias[o]. */
void sum_parts(struct cuda_context *context, const char *what, const float *parts, size_t count,
               size_t outputs, size_t terms, float *weights, float *bias);

/* Queues sums[c] = the sum of channel c of [batch, channels, area]. */
void sum_channels(struct cuda_context *context, const char *what, const float *values, size_t batch,
                  size_t channels, size_t area, float *sums);

/* --- the same for channels-last values [rows, channels]: column_sums.cu --- */

/* Returns the bytes of workspace. */
size_t sum_channels_last_workspace(size_t channels);

void sum_channels_last(struct cuda_context *context, const char *what, const float *values,
                       size_t rows, size_t channels, float *workspace, float *sums);

/* Does the same after the backward pass of a relu: values become 0 where `outputs` are not above 0.
 */
void mask_and_sum_channels_last(struct cuda_context *context, const char *what, float *values,
                                const float *outputs, size_t rows, size_t channels,
                                float *workspace, float *sums);

#endif
