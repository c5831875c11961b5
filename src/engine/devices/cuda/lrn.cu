/* Local response normalisation. All but the gradients are limited by memory, so every value should
 * be read once and nothing be saved.
 *
 * The networks' size of 5 and beta of 3/4 have kernels of their own: a thread has a run of
 * channels of a position, and those around them, in registers. It computes the scale and the
 * damping of each once, also in the backward pass, which takes less time than to read them would.
 * The channels around a run belong to neighbouring threads, and are in the cache. Channels-last,
 * four channels are 16 bytes; in plain arrays the lanes of a warp have successive positions.
 *
 * In other sizes a thread computes one value, and the forward pass saves the scale. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include <math.h>

struct lrn {
    struct divisor channels, area; /* area: the values from one channel to the next */
    int half;
    float alpha_over_size, beta, k;
    uint32_t count;
};

/* --- size 5, beta 3/4 --- */

/* HALF: the channels of a window on each side. HALO: the channels on each side of a run on which
 * the gradient of the run depends. */
enum { HALF = 2, HALO = 2 * HALF, WIDE_RUN = 4, PLAIN_RUN = 8 };

/* The runs of a batch: item = (position / lanes * runs + run) * lanes + position % lanes. */
struct lrn_runs {
    struct divisor runs, area; /* runs of a position; positions of an image */
    uint32_t positions, items;
    uint32_t lane_bits;               /* log2 of lanes */
    uint32_t channels;                /* of an image */
    uint32_t by_channel, by_position; /* distances in an image */
    float alpha_over_size, k;
};

/* Returns the first value of the item's position, and sets *channel to the first one of its run.
 * The last lanes may be beyond the last position: then *inside is false. */
static __host__ __device__ __forceinline__ uint32_t run_of(const struct lrn_runs *l, uint32_t item,
                                                           int length, int *channel, bool *inside)
{
    uint32_t run, at;
    const uint32_t lane = item & ((1u << l->lane_bits) - 1);
    const uint32_t group = divide_rest(item >> l->lane_bits, l->runs, &run);
    const uint32_t position = (group << l->lane_bits) + lane;
    const uint32_t image = divide_rest(position, l->area, &at);
    *channel = (int)run * length;
    *inside = position < l->positions;
    return image * l->channels * l->area.value + at * l->by_position;
}

/* Loads the channels of a run and those around it; channels that do not exist are 0. WIDE: they
 * are neighbours, a multiple of four, and aligned to 16 bytes. */
template <int RUN, bool WIDE>
static __device__ __forceinline__ void load_run(const struct lrn_runs *l, const float *position,
                                                int channel, float values[RUN + 2 * HALO])
{
#pragma unroll
    for (int i = 0; i < RUN + 2 * HALO; i += WIDE ? 4 : 1) {
        const uint32_t at = (uint32_t)(channel - HALO + i); /* below 0: a large number */
        if (WIDE) {
            float4 four = make_float4(0, 0, 0, 0);
            if (at < l->channels)
                four = __ldg((const float4 *)(position + at));
            values[i] = four.x;
            values[i + 1] = four.y;
            values[i + 2] = four.z;
            values[i + 3] = four.w;
        } else
            values[i] = at < l->channels ? __ldg(position + at * l->by_channel) : 0.0f;
    }
}

/* Returns scale^-1/2 of the channel at x[0]. */
static __device__ __forceinline__ float inverse_root(const struct lrn_runs *l, const float *x)
{
    float squares = 0;
#pragma unroll
    for (int j = -HALF; j <= HALF; j++)
        squares += x[j] * x[j];
    return rsqrtf(l->k + l->alpha_over_size * squares);
}

/* Returns scale^-3/4 from scale^-1/2. */
static __device__ __forceinline__ float damping_of(float inverse)
{
    return inverse * inverse * rsqrtf(inverse);
}

template <int RUN, bool WIDE>
static __device__ __forceinline__ void store_run(const struct lrn_runs *l, float *position,
                                                 int channel, bool accumulate,
                                                 const float values[RUN])
{
    if (WIDE) {
        float4 *to = (float4 *)(position + channel);
        const float4 old = accumulate ? *to : make_float4(0, 0, 0, 0);
        *to =
            make_float4(old.x + values[0], old.y + values[1], old.z + values[2], old.w + values[3]);
    } else {
#pragma unroll
        for (int i = 0; i < RUN; i++)
            if ((uint32_t)(channel + i) < l->channels)
                gradient_store(&position[(uint32_t)(channel + i) * l->by_channel], accumulate,
                               values[i]);
    }
}

template <int RUN, bool WIDE>
static __global__ void __launch_bounds__(BLOCK)
    normalise_runs(const float *x, float *y, const __grid_constant__ struct lrn_runs l)
{
    for (uint32_t item = stride_first(); item < l.items; item += stride_step()) {
        int channel;
        bool inside;
        float near[RUN + 2 * HALO], out[RUN];
        const uint32_t at = run_of(&l, item, RUN, &channel, &inside);
        if (!inside)
            continue;
        load_run<RUN, WIDE>(&l, x + at, channel, near);
#pragma unroll
        for (int i = 0; i < RUN; i++)
            out[i] = near[HALO + i] * damping_of(inverse_root(&l, &near[HALO + i]));
        store_run<RUN, WIDE>(&l, y + at, channel, false, out);
    }
}

/* Writes the gradient of channel i: g[i] damping[i] - factor x[i] sum of terms around i, where the
 * term of a channel is g x damping / scale. */
template <int RUN, bool WIDE>
static __global__ void __launch_bounds__(BLOCK)
    normalise_runs_back(const float *x, const float *g, float *gradient, bool accumulate,
                        const __grid_constant__ struct lrn_runs l)
{
    const float factor = 1.5f * l.alpha_over_size; /* 2 beta alpha / size */
    for (uint32_t item = stride_first(); item < l.items; item += stride_step()) {
        int channel;
        bool inside;
        float near[RUN + 2 * HALO], term[RUN + 2 * HALO], own[RUN + 2 * HALO], out[RUN];
        const uint32_t at = run_of(&l, item, RUN, &channel, &inside);
        if (!inside)
            continue;
        load_run<RUN, WIDE>(&l, x + at, channel, near);
        load_run<RUN, WIDE>(&l, g + at, channel, own);
#pragma unroll
        for (int i = HALF; i < RUN + HALO + HALF; i++) {
            const float inverse = inverse_root(&l, &near[i]);
            own[i] *= damping_of(inverse);
            term[i] = own[i] * near[i] * (inverse * inverse);
        }
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            float others = 0;
#pragma unroll
            for (int j = -HALF; j <= HALF; j++)
                others += term[HALO + i + j];
            out[i] = own[HALO + i] - factor * near[HALO + i] * others;
        }
        store_run<RUN, WIDE>(&l, gradient + at, channel, accumulate, out);
    }
}

/* Returns the runs of a call with `length` channels each. */
static struct lrn_runs runs_of(const struct kernel_call *call, size_t length)
{
    const struct lrn_attributes *lrn = &call->site->node->attributes.lrn;
    const struct shape shape = call->site->inputs[0];
    const bool last = call->site->output_layout.channels_last;
    const size_t positions = call->site->batch * shape_area(shape);
    const size_t runs = (shape.channels + length - 1) / length, lanes = last ? 1 : WARP;
    return {divisor_of(runs),
            divisor_of(shape_area(shape)),
            (uint32_t)positions,
            (uint32_t)((positions + lanes - 1) / lanes * lanes * runs),
            last ? 0u : 5u,
            (uint32_t)shape.channels,
            last ? 1u : (uint32_t)shape_area(shape),
            last ? (uint32_t)shape.channels : 1u,
            (float)(lrn->alpha / (double)lrn->size),
            lrn->k};
}

static bool has_runs(const struct kernel_site *site)
{
    const struct lrn_attributes *lrn = &site->node->attributes.lrn;
    return lrn->size == 2 * HALF + 1 && lrn->beta == 0.75f;
}

static bool is_wide(const struct kernel_call *call, const void *a, const void *b, const void *c)
{
    return call->site->output_layout.channels_last && call->site->inputs[0].channels % 4 == 0 &&
           aligned16(a) && aligned16(b) && aligned16(c);
}

static void forward_runs(const struct kernel_call *call)
{
    const bool wide = is_wide(call, call->inputs[0], call->output, NULL);
    const struct lrn_runs runs = runs_of(call, wide ? WIDE_RUN : PLAIN_RUN);
    launch(context_of(call), "lrn forward",
           wide ? normalise_runs<WIDE_RUN, true> : normalise_runs<PLAIN_RUN, false>,
           stride_blocks(runs.items), BLOCK, 0, call->inputs[0], call->output, runs);
}

static void backward_runs(const struct kernel_call *call)
{
    const bool wide =
        is_wide(call, call->inputs[0], call->output_gradient, call->input_gradients[0]);
    const struct lrn_runs runs = runs_of(call, wide ? WIDE_RUN : PLAIN_RUN);
    launch(context_of(call), "lrn backward",
           wide ? normalise_runs_back<WIDE_RUN, true> : normalise_runs_back<PLAIN_RUN, false>,
           stride_blocks(runs.items), BLOCK, 0, call->inputs[0], call->output_gradient,
           call->input_gradients[0], call->accumulate[0], runs);
}

/* --- any size --- */

/* Returns the channel of element `i`. */
static __device__ __forceinline__ int channel_of(const struct lrn *l, uint32_t i)
{
    uint32_t channel;
    divide_rest(divide(i, l->area), l->channels, &channel);
    return (int)channel;
}

/* Sets how far the channels around `channel` reach: from -*below to *above. */
static __device__ __forceinline__ void reach(const struct lrn *l, int channel, int *below,
                                             int *above)
{
    const int beyond = (int)l->channels.value - 1 - channel;
    *below = channel < l->half ? channel : l->half;
    *above = beyond < l->half ? beyond : l->half;
}

static __global__ void normalise(const float *x, float *y, float *saved, struct lrn l)
{
    for (uint32_t i = stride_first(); i < l.count; i += stride_step()) {
        int below, above;
        float squares = 0;
        reach(&l, channel_of(&l, i), &below, &above);
        for (int j = -below; j <= above; j++) {
            const float value = x[(int)i + j * (int)l.area.value];
            squares += value * value;
        }
        const float scale = l.k + l.alpha_over_size * squares;
        y[i] = x[i] * powf(scale, -l.beta);
        if (saved)
            saved[i] = scale;
    }
}

static __global__ void normalise_back(const float *x, const float *g, const float *scale,
                                      float *gradient, bool accumulate, struct lrn l)
{
    const float factor = 2.0f * l.alpha_over_size * l.beta;
    for (uint32_t i = stride_first(); i < l.count; i += stride_step()) {
        int below, above;
        float others = 0;
        reach(&l, channel_of(&l, i), &below, &above);
        for (int j = -below; j <= above; j++) {
            const int at = (int)i + j * (int)l.area.value;
            others += g[at] * x[at] * powf(scale[at], -l.beta) / scale[at];
        }
        gradient_store(&gradient[i], accumulate,
                       g[i] * powf(scale[i], -l.beta) - factor * x[i] * others);
    }
}

static struct lrn lrn_of(const struct kernel_call *call)
{
    const struct lrn_attributes *lrn = &call->site->node->attributes.lrn;
    const struct shape shape = call->site->inputs[0];
    return {divisor_of(shape.channels),
            divisor_of(call->site->output_layout.channels_last ? 1 : shape_area(shape)),
            (int)(lrn->size / 2),
            (float)(lrn->alpha / (double)lrn->size),
            lrn->beta,
            lrn->k,
            (uint32_t)input_values(call, 0)};
}

static size_t saved_lrn(const struct kernel_site *site)
{
    return site->training && !has_runs(site)
               ? site->batch * shape_count(site->inputs[0]) * sizeof(float)
               : 0;
}

static void forward_lrn(const struct kernel_call *call)
{
    if (has_runs(call->site)) {
        forward_runs(call);
        return;
    }
    launch(context_of(call), "lrn forward", normalise, stride_blocks(input_values(call, 0)), BLOCK,
           0, call->inputs[0], call->output, call->site->training ? (float *)call->saved : NULL,
           lrn_of(call));
}

static void backward_lrn(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    if (has_runs(call->site)) {
        backward_runs(call);
        return;
    }
    launch(context_of(call), "lrn backward", normalise_back, stride_blocks(input_values(call, 0)),
           BLOCK, 0, call->inputs[0], call->output_gradient, (const float *)call->saved,
           call->input_gradients[0], call->accumulate[0], lrn_of(call));
}

struct cuda_kernel cuda_lrn = {
    .op = "lrn",
    .kernel =
        {
            .name = "lrn",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .saved_bytes = saved_lrn,
            .forward = forward_lrn,
            .backward = backward_lrn,
        },
};
