/* Adds the bias and applies a fused relu in one pass over a library's matrix product; loads take
 * four values where these are of one channel, or of four successive ones. The output is the relu's
 * mask in the backward pass, so that nothing else is saved. */
#include "engine/devices/cuda/epilogue.h"
#include "engine/devices/cuda/implicit_gemm.h"

#include <math.h>

struct epilogue {
    const float *bias; /* NULL: none */
    bool rectify;
    struct divisor area, channels;
    uint32_t next; /* the channels from a value of a quad to the next one: 0 or 1 */
};

static __device__ __forceinline__ uint32_t channel_of(const struct epilogue *e, uint32_t i)
{
    uint32_t channel;
    divide_rest(divide(i, e->area), e->channels, &channel);
    return channel;
}

static __device__ __forceinline__ float finish(const struct epilogue *e, float value,
                                               uint32_t channel)
{
    if (e->bias)
        value += e->bias[channel];
    return e->rectify && value < 0 ? 0 : value; /* NaN stays NaN */
}

static __global__ void finish_output(float *y, struct epilogue e, uint32_t quads, uint32_t count)
{
    for (uint32_t i = stride_first(); i < quads; i += stride_step()) {
        const float4 v = ((const float4 *)y)[i];
        const uint32_t c = channel_of(&e, 4 * i);
        ((float4 *)y)[i] =
            make_float4(finish(&e, v.x, c), finish(&e, v.y, c + e.next),
                        finish(&e, v.z, c + 2 * e.next), finish(&e, v.w, c + 3 * e.next));
    }
    for (uint32_t i = 4 * quads + stride_first(); i < count; i += stride_step())
        y[i] = finish(&e, y[i], channel_of(&e, i));
}

void epilogue_forward(const struct kernel_call *call, const float *bias)
{
    const struct shape out = call->site->node->output;
    const bool last = call->site->output_layout.channels_last;
    const size_t area = last ? 1 : shape_area(out), count = output_values(call);
    const bool rectify = call->site->fused_activation != NULL;
    const bool by_channel = area == 1 && out.channels % 4 == 0;
    const bool quads = aligned16(call->output) && (!bias || area % 4 == 0 || by_channel);
    const struct epilogue e = {bias, rectify, divisor_of(area), divisor_of(out.channels),
                               area % 4 == 0 ? 0u : 1u};
    if (bias || rectify)
        launch(context_of(call),
               !rectify ? "bias"
               : bias   ? "bias and relu"
                        : "fused relu",
               finish_output, stride_blocks(quads ? count / 4 + 3 : count), BLOCK, 0, call->output,
               e, (uint32_t)(quads ? count / 4 : 0), (uint32_t)count);
}

static __global__ void mask_gradient(const float *y, float *g, uint32_t fours, uint32_t count)
{
    for (uint32_t i = stride_first(); i < fours; i += stride_step()) {
        const float4 of = ((const float4 *)y)[i];
        float4 to = ((const float4 *)g)[i];
        to.x = of.x > 0 ? to.x : 0;
        to.y = of.y > 0 ? to.y : 0;
        to.z = of.z > 0 ? to.z : 0;
        to.w = of.w > 0 ? to.w : 0;
        ((float4 *)g)[i] = to;
    }
    for (uint32_t i = 4 * fours + stride_first(); i < count; i += stride_step())
        g[i] = y[i] > 0 ? g[i] : 0;
}

bool epilogue_sums_bias(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    return site->fused_activation && site->output_layout.channels_last &&
           site->node->attributes.conv.bias && call->parameter_gradients[1];
}

void epilogue_backward(const struct kernel_call *call)
{
    const size_t count = output_values(call), channels = call->site->node->output.channels;
    const bool aligned = aligned16(call->output) && aligned16(call->output_gradient);
    const size_t fours = aligned ? count / 4 : 0;
    if (!call->site->fused_activation)
        return;
    if (epilogue_sums_bias(call))
        mask_and_sum_channels_last(context_of(call), "backward of a fused relu and bias",
                                   (float *)call->output_gradient, call->output, count / channels,
                                   channels, (float *)call->workspace,
                                   call->parameter_gradients[1]);
    else
        launch(context_of(call), "backward of a fused relu", mask_gradient,
               stride_blocks(aligned ? fours + 1 : count), BLOCK, 0, (const float *)call->output,
               (float *)call->output_gradient, (uint32_t)fours, (uint32_t)count);
}
