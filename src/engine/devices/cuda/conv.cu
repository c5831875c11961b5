/* Convolution. The forward pass and the input's gradient are implicit GEMMs (implicit_gemm.h); the
 * weights' gradient has its own kernels (conv_weights.cu). A channel_shift or channel_shuffle can
 * be fused into either. Large 1x1 convolutions may be matrix products instead (conv_pointwise.cu).
 */
#include "engine/devices/cuda/conv.h"
#include "engine/devices/cuda/epilogue.h"
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

/* Returns where the sums of parts begin in the workspace, behind the packed weights. */
static size_t partial_begin(const struct kernel_site *site)
{
    return (conv_packed_bytes(site) + 255) / 256 * 256;
}

size_t conv_gemm_workspace_bytes(const struct kernel_site *site, size_t partial)
{
    return partial > 0 ? partial_begin(site) + partial : conv_packed_bytes(site);
}

/* Returns the bytes for the pass that needs most, since the passes use the workspace in turn:
 * packed weights and sums of parts, the weights' gradient, or the gradient of the bias. */
size_t conv_workspace(const struct kernel_site *site)
{
    const struct conv_shape conv = shape_of(site);
    const bool bias = site->node->attributes.conv.bias;
    size_t partial = implicit_gemm_workspace(&conv, false);
    if (site->training && site->input_gradient[0])
        partial = std::max(partial, implicit_gemm_workspace(&conv, true));
    size_t bytes = conv_gemm_workspace_bytes(site, partial);
    if (site->training)
        bytes = std::max(bytes, weight_gradients_workspace(&conv, bias));
    if (site->training && bias && conv.out_last)
        bytes = std::max(bytes, sum_channels_last_workspace(conv.out.channels));
    return bytes;
}

struct gemm_workspace conv_gemm_workspace(const struct kernel_call *call)
{
    return {conv_packed_bytes(call->site) ? (float *)call->workspace : NULL,
            (float *)((char *)call->workspace + partial_begin(call->site))};
}

const float *conv_bias(const struct kernel_call *call)
{
    return call->site->node->attributes.conv.bias ? call->parameters[1] : NULL;
}

void conv_forward(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const struct implicit_gemm gemm = implicit_gemm_forward(&conv, call->site->fused_move);
    const struct gemm_workspace workspace = conv_gemm_workspace(call);
    const struct gemm_result result = {conv_bias(call), call->output, false,
                                       call->site->fused_activation != NULL};
    implicit_gemm_run(context_of(call), "conv forward", &gemm, call->parameters[0], call->inputs[0],
                      &workspace, &result);
}

void conv_backward_input(const struct kernel_call *call)
{
    const struct conv_shape conv = shape_of(call->site);
    const struct gemm_workspace workspace = conv_gemm_workspace(call);
    const struct gemm_result result = {NULL, call->input_gradients[0], call->accumulate[0], false};
    for (size_t y = 0; result.at && y < conv.window.stride_height; y += GEMM_PHASES)
        for (size_t x = 0; x < conv.window.stride_width; x += GEMM_PHASES) {
            const struct implicit_gemm gemm =
                implicit_gemm_backward(&conv, call->site->fused_move, y, x);
            implicit_gemm_run(context_of(call), "conv backward, input", &gemm, call->parameters[0],
                              call->output_gradient, &workspace, &result);
        }
}

void conv_backward_bias(const struct kernel_call *call)
{
    const struct shape out = call->site->node->output;
    const size_t batch = call->site->batch, area = shape_area(out);
    if (epilogue_sums_bias(call))
        return; /* epilogue_backward has computed the sums */
    if (call->site->output_layout.channels_last)
        sum_channels_last(context_of(call), "conv backward, bias", call->output_gradient,
                          batch * area, out.channels, (float *)call->workspace,
                          call->parameter_gradients[1]);
    else
        sum_channels(context_of(call), "conv backward, bias", call->output_gradient, batch,
                     out.channels, area, call->parameter_gradients[1]);
}

/* Queues the gradients of weights and bias. Below float32 the bias has a separate kernel: in the
 * products that give the weights' gradient its terms would be rounded like their operands. */
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

static void backward_conv(const struct kernel_call *call)
{
    epilogue_backward(call);
    conv_backward_input(call);
    conv_backward_weights(call);
}

/* --- for the matrix products of libraries --- */

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

/* --- the kernel --- */

/* Returns the kernel's name, which says whether some or all passes compute in float32: below
 * float32, tiles of few rows do so too, because tensor cores would multiply zeros. */
const char *conv_general_name(const struct kernel_site *site)
{
    const struct cuda_context *context = (const struct cuda_context *)site->context;
    if (!context || context->precision == CUDA_FLOAT32)
        return cuda_conv.kernel.name;
    const struct conv_shape conv = shape_of(site);
    const bool packed = conv_packed_bytes(site) > 0;
    const struct implicit_gemm forward = implicit_gemm_forward(&conv, site->fused_move);
    size_t passes = 1, tensor = implicit_gemm_uses_tensor(context, &forward, packed);
    if (site->training && site->input_gradient[0]) {
        const struct implicit_gemm input = implicit_gemm_backward(&conv, site->fused_move, 0, 0);
        tensor += implicit_gemm_uses_tensor(context, &input, packed);
        passes++;
    }
    if (site->training) {
        tensor += weight_gradients_use_tensor(context, &conv);
        passes++;
    }
    return tensor == passes ? cuda_conv.kernel.name
           : tensor == 0    ? "conv implicit gemm float32"
                            : "conv implicit gemm + float32";
}

struct cuda_kernel cuda_conv = {
    .op = "conv",
    .kernel =
        {
            .name = "conv implicit gemm",
            .instruction_set = "cuda",
            .traits = KERNEL_BACKWARD_READS_INPUT | KERNEL_FUSES_CHANNEL_MOVES |
                      KERNEL_CONVERTS_LAYOUT | KERNEL_FUSES_ACTIVATION,
            .supports = conv_supports,
            .runs_as = conv_general_name,
            .workspace_bytes = conv_workspace,
            .forward = conv_forward,
            .backward = backward_conv,
        },
};
