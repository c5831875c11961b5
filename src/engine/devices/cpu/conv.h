/* conv.h: the pieces of direct convolution. Not for use outside this room. */
#ifndef TINCA_ENGINE_DEVICES_CPU_CONV_H
#define TINCA_ENGINE_DEVICES_CPU_CONV_H

#include "engine/devices/cpu/conv_layout.h"

/* All sizes of one convolution; those of channels are of one group. */
struct conv_sizes {
    struct shape in, out;
    struct window window;
    size_t batch, groups;
    size_t inputs, outputs;     /* channels of a group */
    size_t taps;                /* elements of the window */
    struct channel_moves moves; /* of the input */
};

static inline struct conv_sizes conv_sizes_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    return (struct conv_sizes){
        .in = site->inputs[0],
        .out = site->node->output,
        .window = conv->window,
        .batch = site->batch,
        .groups = conv->groups,
        .inputs = site->inputs[0].channels / conv->groups,
        .outputs = site->node->output.channels / conv->groups,
        .taps = conv->window.kernel_height * conv->window.kernel_width,
        .moves = {.fused_move = site->fused_move, .channels = site->inputs[0].channels},
    };
}

/* The input's layout, for the forward pass and for the gradient of the weights. */
struct layout KERNEL(conv_input_layout)(const struct conv_sizes *s);

/* Where input channel i's window elements lie in that layout: offsets[i * taps + element]. */
void KERNEL(conv_input_offsets)(const struct conv_sizes *s, const struct layout *layout,
                                size_t *offsets);

/* conv.c: the two correlations, for transposed convolution too. `accumulate` adds to the output,
 * without bias; `bias` [input channels] or NULL is added to an input's gradient that is not
 * accumulated. The workspace is that of training or inference, or of the input's gradient alone. */
void KERNEL(conv_forward)(const struct kernel_call *call, bool accumulate);
void KERNEL(conv_input_backward)(const struct kernel_call *call, const float *bias);
size_t KERNEL(conv_workspace)(const struct kernel_site *site);
size_t KERNEL(conv_input_workspace)(const struct kernel_site *site);
bool KERNEL(conv_supports)(const struct kernel_site *site, const char **reason);

/* conv_weights.c: the gradients of weight and bias. */
size_t KERNEL(conv_weights_workspace)(const struct kernel_site *site);
void KERNEL(conv_weights_backward)(const struct kernel_call *call);
void KERNEL(conv_bias_backward)(const struct kernel_call *call);

#endif
