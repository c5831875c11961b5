/* Local response normalisation: a thread computes one value from the channels around it, which
 * neighbouring threads of the warp read from the cache. Saved: scale. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"

#include <math.h>

struct lrn {
    struct divisor channels, area; /* area: the values from one channel to the next */
    int half;
    float alpha_over_size, beta, k;
    uint32_t count;
};

/* Returns scale^-beta. For the beta of AlexNet and GoogLeNet, 3/4, two roots replace the power. */
static __device__ __forceinline__ float damping(float scale, float beta)
{
    if (beta == 0.75f) {
        const float root = sqrtf(scale);
        return 1.0f / (root * sqrtf(root));
    }
    return powf(scale, -beta);
}

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
        y[i] = x[i] * damping(scale, l.beta);
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
            others += g[at] * x[at] * damping(scale[at], l.beta) / scale[at];
        }
        gradient_store(&gradient[i], accumulate,
                       g[i] * damping(scale[i], l.beta) - factor * x[i] * others);
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
    return site->training ? site->batch * shape_count(site->inputs[0]) * sizeof(float) : 0;
}

static void forward_lrn(const struct kernel_call *call)
{
    launch(context_of(call), "lrn forward", normalise, stride_blocks(input_values(call, 0)), BLOCK,
           0, call->inputs[0], call->output, call->site->training ? (float *)call->saved : NULL,
           lrn_of(call));
}

static void backward_lrn(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
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
