/* Convolution. The forward pass and the input's gradient are implicit GEMMs (implicit_gemm.h); the
 * weights' gradient has its own kernels (conv_weights.cu). A large 1x1 convolution with stride 1 is
 * one matrix product for each image, which cuBLAS computes. A channel_shift or channel_shuffle can
 * be fused into either. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/gemm.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

#include <algorithm>

static struct conv_shape shape_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    return {site->inputs[0],
            site->node->output,
            conv->window,
            conv->groups,
            site->batch,
            site->layouts[0].channels_last,
            site->output_layout.channels_last};
}

/* Refuses dilations, and groups that need a deeper grid than CUDA allows: 65535. */
bool conv_supports(const struct kernel_site *site, const char **reason)
{
    if (conv_is_dilated(&site->node->attributes.conv)) {
        *reason = N_("a dilation");
        return false;
    }
    if (site->node->attributes.conv.groups * GEMM_PHASES * GEMM_PHASES > 65535) {
        *reason = N_("more than 4095 groups");
        return false;
    }
    return supports_counts(site, reason);
}

size_t conv_packed_bytes(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const bool last = site->layouts[0].channels_last || site->output_layout.channels_last;
    return last ? site->node->output.channels * (site->inputs[0].channels / conv->groups) *
                      conv->window.kernel_height * conv->window.kernel_width * sizeof(float)
                : 0;
}

/* The passes use the workspace one after the other: for packed weights, for the sums of parts of
 * the weights' gradient, and for those of the bias. */
size_t conv_workspace(const struct kernel_site *site)
{
    const struct conv_shape conv = shape_of(site);
    const bool bias = site->node->attributes.conv.bias;
    size_t bytes = conv_packed_bytes(site);
    if (site->training)
        bytes = std::max(bytes, weight_gradients_workspace(&conv, bias));
    if (site->training && bias && conv.out_last)
        bytes = std::max(bytes, sum_channels_last_workspace(conv.out.channels));
    return bytes;
}

/* Returns the room for packed weights; NULL: they are not packed. */
static float *packed_of(const struct kernel_call *call)
{
    return conv_packed_bytes(call->site) ? (float *)call->workspace : NULL;
}

static const float *bias_of(const struct kernel_call *call)
{
    return call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
}

void conv_forward(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const struct implicit_gemm gemm = implicit_gemm_forward(&conv, call->site->fused_move);
    const struct gemm_result result = {bias_of(call), call->output, false,
                                       call->site->fused_activation != NULL};
    implicit_gemm_run(context_of(call), "conv forward", &gemm, call->parameters[0], call->inputs[0],
                      packed_of(call), &result);
}

void conv_backward_input(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const struct gemm_result result = {NULL, call->input_gradients[0], call->accumulate[0], false};
    for (size_t y = 0; result.at && y < conv.window.stride_height; y += GEMM_PHASES)
        for (size_t x = 0; x < conv.window.stride_width; x += GEMM_PHASES) {
            const struct implicit_gemm gemm =
                implicit_gemm_backward(&conv, call->site->fused_move, y, x);
            implicit_gemm_run(context_of(call), "conv backward, input", &gemm, call->parameters[0],
                              call->output_gradient, packed_of(call), &result);
        }
}

void conv_backward_bias(const struct kernel_call *call)
{
    const struct shape out = call->site->node->output;
    const size_t batch = call->site->batch, area = shape_area(out);
    if (call->site->output_layout.channels_last)
        sum_channels_last(context_of(call), "conv backward, bias", call->output_gradient,
                          batch * area, out.channels, (float *)call->workspace,
                          call->parameter_gradients[1]);
    else
        sum_channels(context_of(call), "conv backward, bias", call->output_gradient, batch,
                     out.channels, area, call->parameter_gradients[1]);
}

/* Below float32 the bias has a kernel of its own: in the products that give the weights' gradient
 * its terms would be rounded like their operands. */
void conv_backward_weights(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    struct cuda_context *context = context_of(call);
    float *bias = call->site->node->attributes.conv.bias ? call->parameter_gradients[1] : NULL;
    const bool separate = bias && (context->precision != CUDA_FLOAT32 || conv.out_last);
    const struct weight_gradients gradients = {call->output_gradient, call->inputs[0],
                                               call->parameter_gradients[0], separate ? NULL : bias,
                                               call->site->fused_move};
    if (gradients.weights || gradients.bias)
        weight_gradients_run(context, "conv backward, weights", &conv, &gradients,
                             (float *)call->workspace);
    if (separate)
        conv_backward_bias(call);
}

/* --- a fused relu --- */

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

void conv_backward_activation(const struct kernel_call *call)
{
    const size_t count = output_values(call);
    const bool aligned = aligned16(call->output) && aligned16(call->output_gradient);
    const size_t fours = aligned ? count / 4 : 0;
    if (call->site->fused_activation)
        launch(context_of(call), "conv backward, relu", mask_gradient,
               stride_blocks(aligned ? fours + 1 : count), BLOCK, 0, (const float *)call->output,
               (float *)call->output_gradient, (uint32_t)fours, (uint32_t)count);
}

static void backward_conv(const struct kernel_call *call)
{
    conv_backward_activation(call);
    conv_backward_input(call);
    conv_backward_weights(call);
}

/* --- for the matrix products of libraries --- */

static __global__ void repeat_positions(const float *bias, float *y, struct divisor area,
                                        struct divisor channels, uint32_t count)
{
    for (uint32_t i = stride_first(); i < count; i += stride_step()) {
        uint32_t c;
        divide_rest(divide(i, area), channels, &c);
        y[i] = bias[c];
    }
}

float conv_begin_output(const struct kernel_call *call)
{
    const struct shape out = call->site->node->output;
    const size_t count = output_values(call);
    if (!bias_of(call))
        return 0.0f;
    launch(context_of(call), "conv bias", repeat_positions, stride_blocks(count), BLOCK, 0,
           bias_of(call), call->output,
           divisor_of(call->site->output_layout.channels_last ? 1 : shape_area(out)),
           divisor_of(out.channels), (uint32_t)count);
    return 1.0f;
}

size_t conv_work(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    return site->batch * shape_count(site->node->output) *
           (site->inputs[0].channels / conv->groups) * conv->window.kernel_height *
           conv->window.kernel_width;
}

size_t conv_least_work(void)
{
    return ((size_t)1 << 24) * cuda_busy_blocks / 264;
}

/* --- 1x1 by cuBLAS --- */

enum { POINTWISE_AREA = 64 }; /* least positions of an image for one product for each image */

static bool is_pointwise(const struct window *w)
{
    return w->kernel_height == 1 && w->kernel_width == 1 && w->stride_height == 1 &&
           w->stride_width == 1 && w->pad_height == 0 && w->pad_width == 0;
}

static bool supports_pointwise(const struct kernel_site *site, const char **reason)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    if (!is_pointwise(&conv->window) || conv->groups != 1)
        *reason = N_("not a 1x1 window with stride 1, without padding and groups");
    else if (shape_area(site->inputs[0]) < POINTWISE_AREA || conv_work(site) < conv_least_work())
        *reason = N_("too small for matrix products of a library");
    else if (site->layouts[0].channels_last || site->output_layout.channels_last)
        *reason = N_("its values are channels-last");
    else
        return conv_supports(site, reason);
    return false;
}

static void forward_pointwise(const struct kernel_call *call)
{
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    if (call->site->fused_move) {
        conv_forward(call);
        return;
    }
    const struct product product = {out.channels,
                                    shape_area(in),
                                    in.channels,
                                    call->parameters[0],
                                    call->inputs[0],
                                    call->output,
                                    false,
                                    false,
                                    conv_begin_output(call),
                                    call->site->batch,
                                    0,
                                    shape_count(in),
                                    shape_count(out)};
    multiply(context_of(call), "conv forward", &product);
}

static void backward_input_pointwise(const struct kernel_call *call)
{
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    const struct product product = {in.channels,
                                    shape_area(in),
                                    out.channels,
                                    call->parameters[0],
                                    call->output_gradient,
                                    call->input_gradients[0],
                                    true,
                                    false,
                                    call->accumulate[0] ? 1.0f : 0.0f,
                                    call->site->batch,
                                    0,
                                    shape_count(out),
                                    shape_count(in)};
    if (call->site->fused_move)
        conv_backward_input(call);
    else if (product.c)
        multiply(context_of(call), "conv backward, input", &product);
}

static void backward_pointwise(const struct kernel_call *call)
{
    backward_input_pointwise(call);
    conv_backward_weights(call);
}

/* The general kernel computes what reads its input through a channel move. */
static const char *runs_as_pointwise(const struct kernel_site *site)
{
    return site->fused_move ? cuda_conv.kernel.name : cuda_conv_pointwise.kernel.name;
}

/* --- after cuDNN --- */

bool conv_is_pointwise(const struct kernel_site *site)
{
    const char *reason;
    return supports_pointwise(site, &reason);
}

const char *conv_next_name(const struct kernel_site *site)
{
    return conv_is_pointwise(site) ? runs_as_pointwise(site) : cuda_conv.kernel.name;
}

void conv_next_forward(const struct kernel_call *call)
{
    if (conv_is_pointwise(call->site))
        forward_pointwise(call);
    else
        conv_forward(call);
}

void conv_next_backward_input(const struct kernel_call *call)
{
    if (conv_is_pointwise(call->site))
        backward_input_pointwise(call);
    else
        conv_backward_input(call);
}

enum { TRAITS = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES | KERNEL_CONVERTS_LAYOUT };

struct cuda_kernel cuda_conv_pointwise = {
    .op = "conv",
    .kernel =
        {
            .name = "conv 1x1 cuBLAS",
            .instruction_set = "cuda",
            .traits = TRAITS,
            .supports = supports_pointwise,
            .runs_as = runs_as_pointwise,
            .workspace_bytes = conv_workspace,
            .forward = forward_pointwise,
            .backward = backward_pointwise,
        },
};
struct cuda_kernel cuda_conv = {
    .op = "conv",
    .kernel =
        {
            .name = "conv implicit gemm",
            .instruction_set = "cuda",
            .traits = TRAITS | KERNEL_FUSES_ACTIVATION,
            .supports = conv_supports,
            .workspace_bytes = conv_workspace,
            .forward = conv_forward,
            .backward = backward_conv,
        },
};
