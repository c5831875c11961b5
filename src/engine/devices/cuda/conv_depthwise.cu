/* Depthwise convolution: a group has one input channel, and one output channel or a few. That is
 * too little arithmetic for matrix products. One thread sums one window, most of which its
 * neighbours in the warp have brought into the cache. For the weights' gradients a block takes one
 * output channel, a part of all positions, and nine window elements (taps) at a time. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

#include "base/language.h"

enum { TAPS = 9 }; /* taps that a thread sums at once: a window of 3 x 3 */

struct depthwise {
    int kernel_height, kernel_width, stride_height, stride_width, pad_height, pad_width;
    int in_height, in_width, out_height, out_width;
    struct divisor in_across, in_down, in_channels, out_across, out_down, out_channels;
    struct divisor copies;       /* output channels of a group */
    struct divisor down, across; /* the strides */
    struct moves moves;          /* the fused channel move */
};

/* --- forward --- */

/* Returns the plane of the input that channel c of image n reads, and sets *move to its shift. */
static __device__ __forceinline__ const float *plane_of(const struct depthwise *d, const float *in,
                                                        uint32_t n, uint32_t c, struct move *move)
{
    *move = move_of(&d->moves, c);
    return in + (size_t)(n * d->in_channels.value + move->channel) *
                    (uint32_t)(d->in_height * d->in_width);
}

/* Returns value (y, x) of a plane after the move; 0 in the padding. */
static __device__ __forceinline__ float value_at(const struct depthwise *d, const float *plane,
                                                 const struct move *move, int y, int x)
{
    if ((unsigned)y >= (unsigned)d->in_height || (unsigned)x >= (unsigned)d->in_width)
        return 0.0f;
    y -= move->dy;
    x -= move->dx;
    if ((unsigned)y >= (unsigned)d->in_height || (unsigned)x >= (unsigned)d->in_width)
        return 0.0f;
    return __ldg(&plane[y * d->in_width + x]);
}

static __global__ void sum_windows(const float *in, const float *weight, const float *bias,
                                   float *out, bool rectify,
                                   const __grid_constant__ struct depthwise d, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        uint32_t x, y, o;
        struct move move;
        uint32_t n = divide_rest(i, d.out_across, &x);
        n = divide_rest(n, d.out_down, &y);
        n = divide_rest(n, d.out_channels, &o);
        const float *plane = plane_of(&d, in, n, divide(o, d.copies), &move);
        const float *taps = weight + o * (uint32_t)(d.kernel_height * d.kernel_width);
        const int top = (int)y * d.stride_height - d.pad_height;
        const int left = (int)x * d.stride_width - d.pad_width;
        float sum = bias ? bias[o] : 0.0f;
        for (int ky = 0; ky < d.kernel_height; ky++)
            for (int kx = 0; kx < d.kernel_width; kx++)
                sum += __ldg(&taps[ky * d.kernel_width + kx]) *
                       value_at(&d, plane, &move, top + ky, left + kx);
        out[i] = rectify && sum < 0 ? 0.0f : sum; /* NaN stays NaN */
    }
}

/* --- the input's gradient --- */

/* Returns the sum over the windows of one output plane that cover (y, x). */
static __device__ __forceinline__ float covering_sum(const struct depthwise *d, const float *g,
                                                     const float *taps, int y, int x)
{
    float sum = 0;
    for (int ky = 0; ky < d->kernel_height; ky++) {
        uint32_t beyond_y;
        const int from_y = y + d->pad_height - ky;
        const int oy = from_y < 0 ? -1 : (int)divide_rest((uint32_t)from_y, d->down, &beyond_y);
        if (oy < 0 || oy >= d->out_height || beyond_y)
            continue;
        for (int kx = 0; kx < d->kernel_width; kx++) {
            uint32_t beyond_x;
            const int from_x = x + d->pad_width - kx;
            const int ox =
                from_x < 0 ? -1 : (int)divide_rest((uint32_t)from_x, d->across, &beyond_x);
            if (ox >= 0 && ox < d->out_width && !beyond_x)
                sum += __ldg(&taps[ky * d->kernel_width + kx]) * __ldg(&g[oy * d->out_width + ox]);
        }
    }
    return sum;
}

static __global__ void gather_windows(const float *g, const float *weight, float *gradient,
                                      bool accumulate, const __grid_constant__ struct depthwise d,
                                      uint32_t count)
{
    const uint32_t window = (uint32_t)(d.kernel_height * d.kernel_width);
    const uint32_t area = (uint32_t)(d.out_height * d.out_width);
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        uint32_t x, y, c;
        bool beyond_y, beyond_x;
        float sum = 0;
        uint32_t n = divide_rest(i, d.in_across, &x);
        n = divide_rest(n, d.in_down, &y);
        n = divide_rest(n, d.in_channels, &c);
        for (uint32_t copy = 0; copy < d.copies.value; copy++) {
            const uint32_t o = c * d.copies.value + copy;
            sum += covering_sum(&d, g + (size_t)(n * d.out_channels.value + o) * area,
                                weight + o * window, (int)y, (int)x);
        }
        const struct move move = move_of(&d.moves, c);
        const uint32_t to_y = move_back(y, move.dy, d.in_down.value, &beyond_y);
        const uint32_t to_x = move_back(x, move.dx, d.in_across.value, &beyond_x);
        const uint32_t plane = n * d.in_channels.value + move.channel;
        gradient_store(&gradient[(plane * d.in_down.value + to_y) * d.in_across.value + to_x],
                       accumulate, beyond_y || beyond_x ? 0.0f : sum);
    }
}

/* --- the weights' gradient --- */

struct depthwise_weights {
    uint32_t positions, part_positions; /* positions of an output channel, over all images */
    uint32_t parts;
    /* with one part, the gradients; with more, `weights` is [part][channel][columns], where a
     * column for the bias follows those of the window if it has a gradient */
    float *weights, *bias;
    uint32_t columns;
};

/* Sums nine taps; blockIdx counts the output channel, the part and the group of taps. */
static __global__ void sum_taps(const float *in, const float *g,
                                const __grid_constant__ struct depthwise d,
                                const struct depthwise_weights job)
{
    const uint32_t o = blockIdx.x, window = (uint32_t)(d.kernel_height * d.kernel_width);
    const uint32_t begin = blockIdx.y * job.part_positions, first = blockIdx.z * TAPS;
    const uint32_t end = min(begin + job.part_positions, job.positions);
    float sums[TAPS + 1] = {};
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
        uint32_t x, y;
        struct move move;
        const uint32_t n = divide_rest(divide_rest(i, d.out_across, &x), d.out_down, &y);
        const float *plane = plane_of(&d, in, n, divide(o, d.copies), &move);
        const float gradient = __ldg(
            &g[((n * d.out_channels.value + o) * d.out_down.value + y) * d.out_across.value + x]);
        const int top = (int)y * d.stride_height - d.pad_height;
        const int left = (int)x * d.stride_width - d.pad_width;
        int ky = (int)first / d.kernel_width, kx = (int)first % d.kernel_width;
#pragma unroll
        for (int t = 0; t < TAPS; t++) {
            if (first + t < window)
                sums[t] += gradient * value_at(&d, plane, &move, top + ky, left + kx);
            if (++kx == d.kernel_width) {
                kx = 0;
                ky++;
            }
        }
        sums[TAPS] += gradient;
    }
    block_sums<TAPS + 1>(sums);
    if (threadIdx.x > 0)
        return;
    float *taps = job.parts > 1 ? job.weights + ((size_t)blockIdx.y * gridDim.x + o) * job.columns
                                : job.weights + (size_t)o * window;
#pragma unroll
    for (int t = 0; t < TAPS; t++)
        if (first + t < window && job.weights)
            taps[first + t] = sums[t];
    if (first > 0 || !job.bias)
        return;
    if (job.parts > 1)
        taps[window] = sums[TAPS];
    else
        job.bias[o] = sums[TAPS];
}

/* --- calls --- */

static struct depthwise depthwise_of(const struct kernel_call *call)
{
    const struct conv_attributes *conv = &call->site->node->attributes.conv;
    const struct window *w = &conv->window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    struct depthwise d = {};
    d.kernel_height = (int)w->kernel_height;
    d.kernel_width = (int)w->kernel_width;
    d.stride_height = (int)w->stride_height;
    d.stride_width = (int)w->stride_width;
    d.pad_height = (int)w->pad_height;
    d.pad_width = (int)w->pad_width;
    d.in_height = (int)in.height;
    d.in_width = (int)in.width;
    d.out_height = (int)out.height;
    d.out_width = (int)out.width;
    d.in_across = divisor_of(in.width);
    d.in_down = divisor_of(in.height);
    d.in_channels = divisor_of(in.channels);
    d.out_across = divisor_of(out.width);
    d.out_down = divisor_of(out.height);
    d.out_channels = divisor_of(out.channels);
    d.copies = divisor_of(out.channels / in.channels);
    d.down = divisor_of(w->stride_height);
    d.across = divisor_of(w->stride_width);
    d.moves = moves_of(call->site->fused_move, in.channels);
    return d;
}

static bool supports_depthwise(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a dilation");
    if (conv_is_dilated(&site->node->attributes.conv))
        return false;
    if (site->node->attributes.conv.groups == site->inputs[0].channels &&
        site->inputs[0].channels > 1)
        return supports_counts(site, reason);
    *reason = N_("a group has more than one input channel");
    return false;
}

static size_t window_of(const struct kernel_site *site)
{
    const struct window *w = &site->node->attributes.conv.window;
    return w->kernel_height * w->kernel_width;
}

static size_t parts_of(const struct kernel_site *site)
{
    static std::atomic<unsigned> of_one;
    return split_count(site->node->output.channels * blocks_for(window_of(site), TAPS),
                       site->batch * shape_area(site->node->output) / 4,
                       resident_blocks(sum_taps, BLOCK, &of_one));
}

static size_t workspace_depthwise(const struct kernel_site *site)
{
    const size_t parts = site->training ? parts_of(site) : 0;
    const size_t columns = window_of(site) + (site->node->attributes.conv.bias ? 1 : 0);
    return parts > 1 ? parts * site->node->output.channels * columns * sizeof(float) : 0;
}

static void forward_depthwise(const struct kernel_call *call)
{
    const size_t count = output_values(call);
    const float *bias = call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
    launch(context_of(call), "depthwise conv forward", sum_windows, stride_blocks(count), BLOCK, 0,
           call->inputs[0], (const float *)call->parameters[0], bias, call->output,
           call->site->fused_activation != NULL, depthwise_of(call), (uint32_t)count);
}

static void backward_weights(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    const size_t positions = site->batch * shape_area(site->node->output), parts = parts_of(site);
    const size_t channels = site->node->output.channels, window = window_of(site);
    const size_t part_positions = (positions + parts - 1) / parts;
    float *weights = call->parameter_gradients[0];
    float *bias = site->node->attributes.conv.bias ? call->parameter_gradients[1] : NULL;
    const struct depthwise_weights job = {(uint32_t)positions,
                                          (uint32_t)part_positions,
                                          (uint32_t)parts,
                                          parts > 1 ? (float *)call->workspace : weights,
                                          bias,
                                          (uint32_t)(window + (bias ? 1 : 0))};
    launch(context_of(call), "depthwise conv backward, weights", sum_taps,
           dim3((unsigned)channels, (unsigned)parts, blocks_for(window, TAPS)),
           block_threads(part_positions), 0, call->inputs[0], call->output_gradient,
           depthwise_of(call), job);
    if (parts > 1)
        sum_parts(context_of(call), "depthwise conv backward, weights",
                  (const float *)call->workspace, parts, channels, window, weights, bias);
}

static void backward_depthwise(const struct kernel_call *call)
{
    const size_t count = input_values(call, 0);
    epilogue_backward(call);
    if (call->input_gradients[0])
        launch(context_of(call), "depthwise conv backward, input", gather_windows,
               stride_blocks(count), BLOCK, 0, call->output_gradient,
               (const float *)call->parameters[0], call->input_gradients[0], call->accumulate[0],
               depthwise_of(call), (uint32_t)count);
    if (call->parameter_gradients[0] || call->parameter_gradients[1])
        backward_weights(call);
}

struct cuda_kernel cuda_conv_depthwise = {
    .op = "conv",
    .kernel =
        {
            .name = "conv depthwise",
            .instruction_set = "cuda",
            .traits =
                KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES | KERNEL_FUSES_ACTIVATION,
            .supports = supports_depthwise,
            .workspace_bytes = workspace_depthwise,
            .forward = forward_depthwise,
            .backward = backward_depthwise,
        },
};
