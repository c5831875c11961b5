/* Max pooling. In the backward pass an element of the input checks each window that covers it, in
 * order, for whether it was the maximum there. No two threads thus add to the same element. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/pool_window.h"

#include <math.h>

/* Returns the position of the first maximum in raster order; NaN counts as the largest value. No
 * window is padding only. */
static __device__ __forceinline__ int find_maximum(const float *plane, uint32_t step,
                                                   const struct pool_window *w, int y, int x)
{
    const struct range rows =
        window_range(y, w->kernel_height, w->stride_height, w->pad_height, w->in_height);
    const struct range columns =
        window_range(x, w->kernel_width, w->stride_width, w->pad_width, w->in_width);
    int best = rows.begin * w->in_width + columns.begin;
    float most = plane[(uint32_t)best * step];
    for (int iy = rows.begin; iy < rows.end; iy++)
        for (int ix = columns.begin; ix < columns.end; ix++) {
            const float value = plane[(uint32_t)(iy * w->in_width + ix) * step];
            if (value > most || isnan(value)) {
                most = value;
                best = iy * w->in_width + ix;
            }
        }
    return best;
}

static __global__ void find_maxima(const float *in, float *out, int32_t *positions,
                                   struct pool_window w, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        int y, x;
        const uint32_t plane = position_of(&w, i, w.down_out, w.across_out, w.out_last, &y, &x);
        const struct pool_plane from = plane_of(&w, plane, w.in_height * w.in_width, w.in_last);
        const int best = find_maximum(in + from.start, from.step, &w, y, x);
        out[i] = in[from.start + (uint32_t)best * from.step];
        if (positions)
            positions[i] = best;
    }
}

static __global__ void gather_gradients(const float *g, const int32_t *positions, float *gradient,
                                        bool accumulate, struct pool_window w, uint32_t count)
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
            for (int x = columns.begin; x < columns.end; x++) {
                const uint32_t at = of.start + (uint32_t)(y * w.out_width + x) * of.step;
                if (positions[at] == iy * w.in_width + ix)
                    sum += g[at];
            }
        gradient_store(&gradient[i], accumulate, sum);
    }
}

static size_t saved_max_pool(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->node->output) * sizeof(int32_t) : 0;
}

static void forward_max_pool(const struct kernel_call *call)
{
    const size_t count = output_values(call);
    launch(context_of(call), "max_pool forward", find_maxima, stride_blocks(count), BLOCK, 0,
           call->inputs[0], call->output, call->site->training ? (int32_t *)call->saved : NULL,
           pool_window_of(call), (uint32_t)count);
}

static void backward_max_pool(const struct kernel_call *call)
{
    const size_t count = input_values(call, 0);
    if (!call->input_gradients[0])
        return;
    launch(context_of(call), "max_pool backward", gather_gradients, stride_blocks(count), BLOCK, 0,
           call->output_gradient, (const int32_t *)call->saved, call->input_gradients[0],
           call->accumulate[0], pool_window_of(call), (uint32_t)count);
}

struct cuda_kernel cuda_max_pool = {
    .op = "max_pool",
    .kernel =
        {
            .name = "max_pool",
            .instruction_set = "cuda",
            .traits = KERNEL_CONVERTS_LAYOUT,
            .supports = supports_counts,
            .saved_bytes = saved_max_pool,
            .forward = forward_max_pool,
            .backward = backward_max_pool,
        },
};
