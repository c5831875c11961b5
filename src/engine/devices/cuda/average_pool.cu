/* Average pooling. One thread sums a small window; the 32 lanes of a warp sum a large one, as in
 * global pooling. In the backward pass each element of the input adds the gradients of all windows
 * that cover it.
 *
 * Channels-last, a thread does so for four channels, which are 16 bytes. There the lanes of a warp
 * have eight such groups, which are neighbours, and a block sums a large window of 32 channels. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/pool_window.h"
#include "engine/devices/cuda/reduce.h"

static __device__ __forceinline__ float plus(float a, float b)
{
    return a + b;
}
static __device__ __forceinline__ float4 plus(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/* Returns the sum of every `step`-th element under a window, from element `first` on. V is a value,
 * or those of four channels; positions lie `by_position` of them apart. */
template <class V>
static __device__ __forceinline__ V window_sum(const V *plane, uint32_t by_position,
                                               const struct pool_window *w, int y, int x, int first,
                                               int step)
{
    const struct range rows =
        window_range(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height);
    const struct range columns =
        window_range(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width);
    const int across = columns.end - columns.begin, count = (rows.end - rows.begin) * across;
    V sum = {};
#pragma unroll 4
    for (int k = first; k < count; k += step)
        sum = plus(sum, __ldg(&plane[(uint32_t)((rows.begin + k / across) * w->in_width +
                                                columns.begin + k % across) *
                                     by_position]));
    return sum;
}

static __device__ __forceinline__ float window_area(const struct pool_window *w, int y, int x)
{
    return (
        float)(window_counted(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height) *
               window_counted(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width));
}

/* Computes each window with LANES threads, 1 or WARP. */
template <int LANES>
static __global__ void average(const float *in, float *out, struct pool_window w, uint32_t count)
{
    const uint32_t lane = threadIdx.x % LANES;
    for (uint32_t i = stride_first() / LANES; i < count; i += stride_step() / LANES) {
        int y, x;
        const uint32_t plane = position_of(&w, i, w.down_out, w.across_out, w.out_last, &y, &x);
        const struct pool_plane from = plane_of(&w, plane, w.in_height * w.in_width, w.in_last);
        float sum = window_sum(in + from.start, from.step, &w, y, x, (int)lane, LANES);
        if (LANES == WARP)
            sum = warp_sum(sum);
        if (lane == 0)
            out[i] = sum / window_area(&w, y, x);
    }
}

static __global__ void gather_shares(const float *g, float *gradient, bool accumulate,
                                     struct pool_window w, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        int iy, ix;
        const uint32_t plane = position_of(&w, i, w.down_in, w.across_in, w.in_last, &iy, &ix);
        const struct pool_plane of = plane_of(&w, plane, w.out_height * w.out_width, w.out_last);
        const struct range rows =
            covering_windows(iy, w.kernel_height, w.stride_height, w.pad_height, w.out_height);
        const struct range columns =
            covering_windows(ix, w.kernel_width, w.stride_width, w.pad_width, w.out_width);
        float sum = 0;
        for (int y = rows.begin; y < rows.end; y++)
            for (int x = columns.begin; x < columns.end; x++)
                sum +=
                    g[of.start + (uint32_t)(y * w.out_width + x) * of.step] / window_area(&w, y, x);
        gradient_store(&gradient[i], accumulate, sum);
    }
}

/* --- channels-last, four channels: item = position * groups + group --- */

static __device__ __forceinline__ float4 divided(float4 a, float by)
{
    return make_float4(a.x / by, a.y / by, a.z / by, a.w / by);
}

/* Splits an item into its image, position and group of channels. */
struct four_at {
    uint32_t image, group;
    int y, x;
};
static __host__ __device__ __forceinline__ struct four_at
four_of(uint32_t item, struct divisor groups, struct divisor down, struct divisor across)
{
    uint32_t group, y, x;
    const uint32_t position = divide_rest(item, groups, &group);
    const uint32_t image = divide_rest(divide_rest(position, across, &x), down, &y);
    return {image, group, (int)y, (int)x};
}

static __global__ void average_fours(const float4 *in, float4 *out, struct pool_window w,
                                     struct divisor groups, uint32_t items)
{
    const uint32_t area = (uint32_t)(w.in_height * w.in_width) * groups.value;
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        const struct four_at at = four_of(i, groups, w.down_out, w.across_out);
        const float4 sum =
            window_sum(in + at.image * area + at.group, groups.value, &w, at.y, at.x, 0, 1);
        out[i] = divided(sum, window_area(&w, at.y, at.x));
    }
}

enum { BLOCK_GROUPS = 8, BLOCK_ROWS = BLOCK / BLOCK_GROUPS };

/* Computes large windows, a block for each. `blocks` counts the groups of BLOCK_GROUPS of a
 * position; block = position * blocks + number. */
static __global__ void __launch_bounds__(BLOCK)
    average_by_block(const float4 *in, float4 *out, struct pool_window w, uint32_t groups,
                     struct divisor blocks)
{
    __shared__ float4 sums[BLOCK_ROWS][BLOCK_GROUPS];
    const uint32_t across = threadIdx.x % BLOCK_GROUPS, down = threadIdx.x / BLOCK_GROUPS;
    const struct four_at at = four_of(blockIdx.x, blocks, w.down_out, w.across_out);
    const uint32_t group = at.group * BLOCK_GROUPS + across;
    const uint32_t area = (uint32_t)(w.in_height * w.in_width) * groups;
    float4 sum = make_float4(0, 0, 0, 0);
    if (group < groups)
        sum =
            window_sum(in + at.image * area + group, groups, &w, at.y, at.x, (int)down, BLOCK_ROWS);
    sums[down][across] = sum;
    __syncthreads();
    if (down > 0 || group >= groups)
        return;
    for (uint32_t d = 1; d < BLOCK_ROWS; d++)
        sum = plus(sum, sums[d][across]);
    const uint32_t position = (at.image * w.down_out.value + (uint32_t)at.y) * w.across_out.value;
    out[(position + (uint32_t)at.x) * groups + group] = divided(sum, window_area(&w, at.y, at.x));
}

static __global__ void gather_fours(const float4 *g, float4 *gradient, bool accumulate,
                                    struct pool_window w, struct divisor groups, uint32_t items)
{
    const uint32_t area = (uint32_t)(w.out_height * w.out_width) * groups.value;
    for (uint32_t i = stride_first(); i < items; i += stride_step()) {
        const struct four_at at = four_of(i, groups, w.down_in, w.across_in);
        const float4 *from = g + at.image * area + at.group;
        const struct range rows =
            covering_windows(at.y, w.kernel_height, w.stride_height, w.pad_height, w.out_height);
        const struct range columns =
            covering_windows(at.x, w.kernel_width, w.stride_width, w.pad_width, w.out_width);
        float4 sum = make_float4(0, 0, 0, 0);
        for (int y = rows.begin; y < rows.end; y++)
            for (int x = columns.begin; x < columns.end; x++)
                sum =
                    plus(sum, divided(__ldg(&from[(uint32_t)(y * w.out_width + x) * groups.value]),
                                      window_area(&w, y, x)));
        gradient[i] = accumulate ? plus(gradient[i], sum) : sum;
    }
}

/* Returns whether both arrays can be read as fours of channels. The two layouts of an image of one
 * position are the same. */
static bool has_fours(const struct pool_window *w, const float *in, const float *out)
{
    const bool in_last = w->in_last || w->in_height * w->in_width == 1;
    const bool out_last = w->out_last || w->out_height * w->out_width == 1;
    return (w->in_last || w->out_last) && in_last && out_last && w->channels.value % 4 == 0 &&
           aligned16(in) && aligned16(out);
}

static void forward_fours(const struct kernel_call *call, const struct pool_window *w,
                          bool by_blocks)
{
    const size_t groups = w->channels.value / 4, items = output_values(call) / 4;
    const size_t blocks = blocks_for(groups, BLOCK_GROUPS);
    const float4 *in = (const float4 *)call->inputs[0];
    float4 *out = (float4 *)call->output;
    if (by_blocks)
        launch(context_of(call), "average_pool forward", average_by_block,
               (unsigned)(items / groups * blocks), BLOCK, 0, in, out, *w, (uint32_t)groups,
               divisor_of(blocks));
    else
        launch(context_of(call), "average_pool forward", average_fours, stride_blocks(items), BLOCK,
               0, in, out, *w, divisor_of(groups), (uint32_t)items);
}

/* --- the choice --- */

static void forward_average_pool(const struct kernel_call *call)
{
    const struct pool_window w = pool_window_of(call);
    const size_t count = output_values(call);
    const bool by_warps = w.kernel_height * w.kernel_width >= WARP;
    if (has_fours(&w, call->inputs[0], call->output)) {
        forward_fours(call, &w, by_warps);
        return;
    }
    launch(context_of(call), "average_pool forward", by_warps ? average<WARP> : average<1>,
           stride_blocks(by_warps ? WARP * count : count), BLOCK, 0, call->inputs[0], call->output,
           w, (uint32_t)count);
}

static void backward_average_pool(const struct kernel_call *call)
{
    const struct pool_window w = pool_window_of(call);
    const size_t count = input_values(call, 0);
    const float *g = call->output_gradient;
    float *gradient = call->input_gradients[0];
    if (!gradient)
        return;
    if (has_fours(&w, gradient, g))
        launch(context_of(call), "average_pool backward", gather_fours, stride_blocks(count / 4),
               BLOCK, 0, (const float4 *)g, (float4 *)gradient, call->accumulate[0], w,
               divisor_of(w.channels.value / 4), (uint32_t)(count / 4));
    else
        launch(context_of(call), "average_pool backward", gather_shares, stride_blocks(count),
               BLOCK, 0, g, gradient, call->accumulate[0], w, (uint32_t)count);
}

struct cuda_kernel cuda_average_pool = {
    .op = "average_pool",
    .kernel =
        {
            .name = "average_pool",
            .instruction_set = "cuda",
            .traits = KERNEL_CONVERTS_LAYOUT,
            .supports = supports_counts,
            .forward = forward_average_pool,
            .backward = backward_average_pool,
        },
};
