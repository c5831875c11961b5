/* Transposed convolution is the input's gradient of a convolution: it uses the implicit
 * GEMMs of that convolution, each for the opposite pass. */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/kernels.h"

#include "base/language.h"

#include <algorithm>

/* Returns the convolution from this operator's output to its input. */
static struct conv_shape shape_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    return {site->node->output,
            site->inputs[0],
            conv->window,
            conv->groups,
            site->batch,
            site->output_layout.channels_last,
            site->layouts[0].channels_last};
}

static bool supports_transpose(const struct kernel_site *site, const char **reason)
{
    if (site->node->attributes.conv.groups * GEMM_PHASES * GEMM_PHASES > 65535) {
        *reason = N_("more than 4095 groups");
        return false;
    }
    return supports_counts(site, reason);
}

/* Returns the bytes for the pass that needs most, since the passes use the workspace in turn, as in
 * conv.cu. */
static size_t workspace_transpose(const struct kernel_site *site)
{
    const struct conv_shape conv = shape_of(site);
    size_t partial = implicit_gemm_workspace(&conv, true);
    if (site->training && site->input_gradient[0])
        partial = std::max(partial, implicit_gemm_workspace(&conv, false));
    size_t bytes = conv_gemm_workspace_bytes(site, partial);
    if (site->training)
        bytes = std::max(bytes, weight_gradients_workspace(&conv, false));
    if (site->training && site->node->attributes.conv.bias && conv.in_last)
        bytes = std::max(bytes, sum_channels_last_workspace(conv.in.channels));
    return bytes;
}

static void forward_transpose(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const float *bias = call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
    const struct gemm_workspace workspace = conv_gemm_workspace(call);
    const struct gemm_result result = {bias, call->output, false, false};
    for (size_t y = 0; y < conv.window.stride_height; y += GEMM_PHASES)
        for (size_t x = 0; x < conv.window.stride_width; x += GEMM_PHASES) {
            const struct implicit_gemm gemm = implicit_gemm_backward(&conv, NULL, y, x);
            implicit_gemm_run(context_of(call), "conv_transpose forward", &gemm,
                              call->parameters[0], call->inputs[0], &workspace, &result);
        }
}

static void sum_bias(const struct kernel_call *call, const struct conv_shape *conv)
{
    const char *what = "conv_transpose backward, bias";
    const size_t batch = conv->batch, channels = conv->in.channels, area = shape_area(conv->in);
    float *sums = call->parameter_gradients[1];
    if (conv->in_last)
        sum_channels_last(context_of(call), what, call->output_gradient, batch * area, channels,
                          (float *)call->workspace, sums);
    else
        sum_channels(context_of(call), what, call->output_gradient, batch, channels, area, sums);
}

static void backward_transpose(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const struct implicit_gemm gemm = implicit_gemm_forward(&conv, NULL);
    const struct gemm_workspace workspace = conv_gemm_workspace(call);
    const struct gemm_result result = {NULL, call->input_gradients[0], call->accumulate[0], false};
    const struct weight_gradients gradients = {call->inputs[0], call->output_gradient,
                                               call->parameter_gradients[0], NULL, NULL};
    if (result.at)
        implicit_gemm_run(context_of(call), "conv_transpose backward, input", &gemm,
                          call->parameters[0], call->output_gradient, &workspace, &result);
    if (gradients.weights)
        weight_gradients_run(context_of(call), "conv_transpose backward, weights", &conv,
                             &gradients, (float *)call->workspace);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        sum_bias(call, &conv);
}

struct cuda_kernel cuda_conv_transpose = {
    .op = "conv_transpose",
    .kernel =
        {
            .name = "conv_transpose implicit gemm",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_CONVERTS_LAYOUT,
            .supports = supports_transpose,
            .workspace_bytes = workspace_transpose,
            .forward = forward_transpose,
            .backward = backward_transpose,
        },
};
