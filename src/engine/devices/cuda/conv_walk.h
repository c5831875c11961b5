/* conv_walk.h: convolution as one matrix product whose right side is never stored. Not for use
 * outside this room.
 *
 *   target[n, row, ty, tx] = sum over channels c and taps (jy, jx) of
 *       weight[row, c, jy, jx] * source[n, c, y(ty, jy), x(tx, jx)]
 *
 * with rows and terms (c, jy, jx) as a matrix of weights, and as many columns as there are
 * positions in all images. Along an axis
 *
 *   source = t * source_step + source_first + j * source_tap
 *   target = t * target_step + target_first
 *   tap of the window = weight_first + j * weight_step
 *
 * A convolution's forward pass is one such walk, one step of t an output. Its gradient for the
 * input is one for each remainder that an input position, counted from the padding, leaves by the
 * stride: positions that leave the same one see the same taps, every stride-th of the window, and
 * no term is multiplied in vain. The same two walks are the gradient and the forward pass of a
 * transposed convolution.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_CONV_WALK_H
#define TINCA_ENGINE_DEVICES_CUDA_CONV_WALK_H

#include "engine/devices/cuda/launch.h"
#include "engine/devices/cuda/moves.h"

/* Remainders that one launch takes; wider strides need several. */
enum { WALK_PHASES = 4 };

struct walk_phase {
    struct divisor columns, taps; /* 1 where there are none */
    bool empty;                   /* no columns */
    bool untapped;                /* no taps: the target is zero */
    int source_first, target_first, weight_first;
};

struct walk_axis {
    struct walk_phase phases[WALK_PHASES];
    int phase_count;
    int source_step, source_tap, target_step, weight_step;
    int source_size, target_size;
};

struct walk {
    struct walk_axis down, across;
    uint32_t images, groups;
    uint32_t rows, channels; /* of one group: of the target, of the source */
    /* weight[group * by_group + row * by_row + channel * by_channel + tap], taps as the window has
     * them, so many to a line of it */
    uint32_t by_group, by_row, by_channel, window_width;
    struct moves source_moves, target_moves;
};

/* The numbers of one block's phase and group, where its kernel needs them again and again. */
struct walk_block {
    struct walk_phase down, across;
    uint32_t group, columns, terms;
};

static __host__ __device__ __forceinline__ struct walk_block walk_block_of(const struct walk *w,
                                                                           uint32_t z)
{
    struct walk_block block;
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

/* One column: its image and where its window begins in the source. */
struct walk_column {
    uint32_t image;
    int y, x; /* source position of tap (0, 0) */
    int ty, tx;
};

static __host__ __device__ __forceinline__ struct walk_column
walk_column_of(const struct walk *w, const struct walk_block *block, uint32_t column)
{
    uint32_t ty, tx;
    struct walk_column at;
    at.image =
        divide_rest(divide_rest(column, block->across.columns, &tx), block->down.columns, &ty);
    at.ty = (int)ty;
    at.tx = (int)tx;
    at.y = at.ty * w->down.source_step + block->down.source_first;
    at.x = at.tx * w->across.source_step + block->across.source_first;
    return at;
}

/* One term: a channel of the group, and its tap as an offset in the source and in the window. */
struct walk_term {
    uint32_t channel, weight;
    int y, x;
};

static __host__ __device__ __forceinline__ struct walk_term
walk_term_of(const struct walk *w, const struct walk_block *block, uint32_t term)
{
    uint32_t jy, jx;
    struct walk_term at;
    at.channel = divide_rest(divide_rest(term, block->across.taps, &jx), block->down.taps, &jy);
    at.y = (int)jy * w->down.source_tap;
    at.x = (int)jx * w->across.source_tap;
    const int ky = block->down.weight_first + (int)jy * w->down.weight_step;
    const int kx = block->across.weight_first + (int)jx * w->across.weight_step;
    at.weight = at.channel * w->by_channel + (uint32_t)ky * w->window_width + (uint32_t)kx;
    return at;
}

/* Where a term finds its value in the source, from the start of an image; -1 in the padding, or
 * where a shift moved nothing in. MOVED: the source is read through a move of channels. */
template <bool MOVED>
static __host__ __device__ __forceinline__ int
walk_source(const struct walk *w, const struct walk_block *block, const struct walk_column *column,
            const struct walk_term *term)
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
    }
    return ((int)channel * height + y) * width + x;
}

/* Where the sum of a row and a column belongs in the target. *outside: a shift moved it out, and
 * the place, that nothing moved to, is due a zero. */
template <bool MOVED>
static __host__ __device__ __forceinline__ uint32_t walk_target(const struct walk *w,
                                                                const struct walk_block *block,
                                                                const struct walk_column *column,
                                                                uint32_t row, bool *outside)
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
    }
    return ((column->image * channels + channel) * height + y) * width + x;
}

/* --- the walks of a convolution from `in` to `out` (which a transposed one goes back) --- */

struct conv_shape {
    struct shape in, out;
    struct window window;
    size_t groups, batch;
};

/* From `in` to `out`. Weights lie [out, in / groups, window]. */
struct walk walk_forward(const struct conv_shape *conv, const struct node *fused_move);

/* From `out` to `in`, for remainders [first_y, first_y + WALK_PHASES) and the same across. */
struct walk walk_back(const struct conv_shape *conv, const struct node *fused_move, size_t first_y,
                      size_t first_x);

/* What is done with the sums. */
struct walk_result {
    const float *bias; /* NULL: none */
    float *at;
    bool accumulate;
};

/* Enqueues a walk over all of `source`. */
void walk_run(struct cuda_context *context, const char *what, const struct walk *walk,
              const float *weight, const float *source, const struct walk_result *result);

/* --- gradients of the weights: conv_weights.cu --- */

/* weights[o, i, window] = sum over images and positions p of `out` of small[n, o, p] * large[n, i,
 * p under the tap]: both sides as a convolution has them. `bias` receives the sums of small's
 * channels. Either may be NULL. */
struct weight_gradients {
    const float *small, *large;
    float *weights, *bias;
    const struct node *fused_move; /* between `large` and the convolution */
};
size_t weight_gradients_workspace(const struct conv_shape *conv);
void weight_gradients_run(struct cuda_context *context, const char *what,
                          const struct conv_shape *conv, const struct weight_gradients *gradients,
                          float *workspace);

/* Into how many parts a sum over `positions` is cut when `blocks` blocks do one part. */
size_t split_count(size_t blocks, size_t positions);

/* weights[o, t] and bias[o] from parts[part][o][terms + 1], added up in order; either may be NULL.
 */
void sum_parts(struct cuda_context *context, const char *what, const float *parts, size_t count,
               size_t outputs, size_t terms, float *weights, float *bias);

/* sums[c] = the sum of channel c of [batch, channels, area]. */
void sum_channels(struct cuda_context *context, const char *what, const float *values, size_t batch,
                  size_t channels, size_t area, float *sums);

#endif
