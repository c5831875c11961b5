/* Softmax across channels. In vectors and small images a warp takes a position, and its lanes take
 * the channels; in larger images a thread takes a position, so that a warp reads 32 neighbours at
 * once. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/reduce.h"

#include <math.h>

struct softmax {
    struct divisor area;
    uint32_t channels, positions; /* positions of the batch */
};

/* Returns the index of channel 0 of position `i`. */
static __device__ __forceinline__ uint32_t first_of(const struct softmax *s, uint32_t i)
{
    uint32_t at;
    const uint32_t n = divide_rest(i, s->area, &at);
    return n * s->channels * s->area.value + at;
}

/* Computes the softmax of each position with LANES threads, 1 or WARP. y may be x. */
template <int LANES> static __global__ void softmax_rows(const float *x, float *y, struct softmax s)
{
    const uint32_t lane = threadIdx.x % LANES;
    for (uint32_t i = stride_first() / LANES; i < s.positions; i += stride_step() / LANES) {
        const uint32_t first = first_of(&s, i), step = s.area.value;
        float largest = x[first], sum = 0;
        for (uint32_t c = lane; c < s.channels; c += LANES)
            largest = fmaxf(largest, x[first + c * step]);
        if (LANES == WARP)
            largest = warp_max(largest);
        for (uint32_t c = lane; c < s.channels; c += LANES) {
            const float e = expf(x[first + c * step] - largest);
            sum += e;
        }
        if (LANES == WARP)
            sum = warp_sum(sum);
        for (uint32_t c = lane; c < s.channels; c += LANES)
            y[first + c * step] = expf(x[first + c * step] - largest) / sum;
    }
}

/* Computes the gradient, which may overwrite g. */
template <int LANES>
static __global__ void softmax_rows_back(const float *y, const float *g, float *gradient,
                                         bool accumulate, struct softmax s)
{
    const uint32_t lane = threadIdx.x % LANES;
    for (uint32_t i = stride_first() / LANES; i < s.positions; i += stride_step() / LANES) {
        const uint32_t first = first_of(&s, i), step = s.area.value;
        float dot = 0;
        for (uint32_t c = lane; c < s.channels; c += LANES)
            dot += g[first + c * step] * y[first + c * step];
        if (LANES == WARP)
            dot = warp_sum(dot);
        for (uint32_t c = lane; c < s.channels; c += LANES) {
            const uint32_t at = first + c * step;
            gradient_store(&gradient[at], accumulate, y[at] * (g[at] - dot));
        }
    }
}

static struct softmax softmax_of(const struct kernel_call *call)
{
    const struct shape shape =
        softmax_shape(&call->site->node->attributes.softmax, call->site->inputs[0]);
    return {divisor_of(shape_area(shape)), (uint32_t)shape.channels,
            (uint32_t)(call->site->batch * shape_area(shape))};
}

static bool by_warps(const struct softmax *s)
{
    return s->area.value < WARP && s->channels > 4;
}

static void forward_softmax(const struct kernel_call *call)
{
    const struct softmax s = softmax_of(call);
    launch(context_of(call), "softmax forward", by_warps(&s) ? softmax_rows<WARP> : softmax_rows<1>,
           stride_blocks((size_t)s.positions * (by_warps(&s) ? WARP : 1)), BLOCK, 0,
           call->inputs[0], call->output, s);
}

static void backward_softmax(const struct kernel_call *call)
{
    const struct softmax s = softmax_of(call);
    if (!call->input_gradients[0])
        return;
    launch(context_of(call), "softmax backward",
           by_warps(&s) ? softmax_rows_back<WARP> : softmax_rows_back<1>,
           stride_blocks((size_t)s.positions * (by_warps(&s) ? WARP : 1)), BLOCK, 0,
           (const float *)call->output, call->output_gradient, call->input_gradients[0],
           call->accumulate[0], s);
}

struct cuda_kernel cuda_softmax = {
    .op = "softmax",
    .kernel =
        {
            .name = "softmax",
            .instruction_set = "cuda",
            .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_OUTPUT | KERNEL_GRADIENT_IN_PLACE,
            .supports = supports_counts,
            .forward = forward_softmax,
            .backward = backward_softmax,
        },
};
