/* Average pooling. One thread sums a small window; the 32 lanes of a warp sum a large one, as in
 * global pooling. In the backward pass each element of the input adds the gradients of all windows
 * that cover it. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/pool_window.h"
#include "engine/devices/cuda/reduce.h"

/* Returns the sum of every `step`-th element under a window, from element `first` on. */
static __device__ __forceinline__ float window_sum(const float *plane, uint32_t by_position,
                                                   const struct pool_window *w, int y, int x,
                                                   int first, int step)
{
    const struct range rows =
        window_range(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height);
    const struct range columns =
        window_range(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width);
    const int across = columns.end - columns.begin, count = (rows.end - rows.begin) * across;
    float sum = 0;
    for (int k = first; k < count; k += step)
        sum +=
            plane[(uint32_t)((rows.begin + k / across) * w->in_width + columns.begin + k % across) *
                  by_position];
    return sum;
}

static __device__ __forceinline__ float window_area(const struct pool_window *w, int y, int x)
{
    return (
        float)(window_counted(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height) *
               window_counted(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width));
}

/* LANES threads, 1 or WARP, compute a window. */
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

static void forward_average_pool(const struct kernel_call *call)
{
    const struct pool_window w = pool_window_of(call);
    const size_t count = output_values(call);
    const bool by_warps = w.kernel_height * w.kernel_width >= WARP;
    launch(context_of(call), "average_pool forward", by_warps ? average<WARP> : average<1>,
           stride_blocks(by_warps ? WARP * count : count), BLOCK, 0, call->inputs[0], call->output,
           w, (uint32_t)count);
}

static void backward_average_pool(const struct kernel_call *call)
{
    const size_t count = input_values(call, 0);
    if (!call->input_gradients[0])
        return;
    launch(context_of(call), "average_pool backward", gather_shares, stride_blocks(count), BLOCK, 0,
           call->output_gradient, call->input_gradients[0], call->accumulate[0],
           pool_window_of(call), (uint32_t)count);
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
