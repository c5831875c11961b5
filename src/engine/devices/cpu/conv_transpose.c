/* Transposed convolution by the functions of direct convolution (conv.c, conv_weights.c).
 *
 * Its mirror is the convolution with the same window and weights from the output's shape to the
 * input's; the weight's layout [I, O / groups, KH, KW] is the usual one of that convolution. Then
 *
 *   forward            the mirror's gradient of its input, plus the bias
 *   input's gradient   the mirror's forward pass over the output's gradient
 *   weight's gradient  the mirror's weight gradient, with input and output gradient exchanged
 */
#include "engine/devices/cpu/conv.h"

#include "engine/ops/op.h"

struct mirror {
    struct node node;
    struct kernel_site site;
    struct kernel_call call;
};

static void mirror_site(struct mirror *mirror, const struct kernel_site *site)
{
    mirror->node = *site->node;
    mirror->node.output = site->inputs[0];
    mirror->node.attributes.conv.outputs = site->inputs[0].channels;
    mirror->node.attributes.conv.bias = false;
    mirror->site = *site;
    mirror->site.node = &mirror->node;
    mirror->site.inputs[0] = site->node->output;
}

static void mirror_call(struct mirror *mirror, const struct kernel_call *call)
{
    mirror_site(mirror, call->site);
    mirror->call = *call;
    mirror->call.site = &mirror->site;
    mirror->call.accumulate[0] = false;
}

static void forward_conv_transpose(const struct kernel_call *call)
{
    struct mirror mirror;
    mirror_call(&mirror, call);
    mirror.call.output_gradient = call->inputs[0];
    mirror.call.input_gradients[0] = call->output;
    const bool bias = call->site->node->attributes.conv.bias;
    KERNEL(conv_input_backward)(&mirror.call, bias ? call->parameters[1] : NULL);
}

static void backward_conv_transpose(const struct kernel_call *call)
{
    struct mirror mirror;
    mirror_call(&mirror, call);
    mirror.call.inputs[0] = call->output_gradient;
    if (call->input_gradients[0]) {
        mirror.call.output = call->input_gradients[0];
        KERNEL(conv_forward)(&mirror.call, call->accumulate[0]);
    }
    mirror.call.output_gradient = call->inputs[0];
    if (call->parameter_gradients[0])
        KERNEL(conv_weights_backward)(&mirror.call);
    if (call->site->node->attributes.conv.bias && call->parameter_gradients[1])
        KERNEL(conv_bias_backward)(call);
}

static size_t workspace_conv_transpose(const struct kernel_site *site)
{
    struct mirror mirror;
    mirror_site(&mirror, site);
    size_t bytes = KERNEL(conv_input_workspace)(&mirror.site);
    return site->training ? max_size(bytes, KERNEL(conv_workspace)(&mirror.site)) : bytes;
}

static bool supports_conv_transpose(const struct kernel_site *site, const char **reason)
{
    return KERNEL(conv_supports)(site, reason);
}

const struct kernel KERNEL(conv_transpose) = {
    .name = "conv_transpose direct",
    .instruction_set = ISA_NAME,
    .op = &op_conv_transpose,
    .traits = KERNEL_BACKWARD_READS_INPUT,
    .supports = supports_conv_transpose,
    .workspace_bytes = workspace_conv_transpose,
    .forward = forward_conv_transpose,
    .backward = backward_conv_transpose,
};
