/* conv.h: direct convolution, which the kernels conv, conv_gemm and conv_transpose share. Only the
 * kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_CONV_H
#define TINCA_ENGINE_DEVICES_CPU_CONV_H

#include "engine/devices/cpu/conv_layout.h"

/* The sizes of one convolution; channels are counted within a group. */
struct conv_sizes {
    struct shape in, out;
    struct window window;
    size_t dilation_height, dilation_width; /* from one element of the window to the next */
    size_t span_height, span_width;         /* positions from the first element to the last one */
    size_t batch, groups;
    size_t inputs, outputs;     /* channels of a group */
    size_t taps;                /* elements of the window */
    struct channel_moves moves; /* the move that is fused into the convolution */
};

static inline struct conv_sizes conv_sizes_of(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct window *window = &conv->window;
    return (struct conv_sizes){
        .in = site->inputs[0],
        .out = site->node->output,
        .window = *window,
        .dilation_height = max_size(conv->dilation_height, 1),
        .dilation_width = max_size(conv->dilation_width, 1),
        .span_height = dilated_size(window->kernel_height, conv->dilation_height),
        .span_width = dilated_size(window->kernel_width, conv->dilation_width),
        .batch = site->batch,
        .groups = conv->groups,
        .inputs = site->inputs[0].channels / conv->groups,
        .outputs = site->node->output.channels / conv->groups,
        .taps = window->kernel_height * window->kernel_width,
        .moves = {.fused_move = site->fused_move, .channels = site->inputs[0].channels},
    };
}

/* Returns whether an axis has both a stride and a dilation. The positions of the input then read
 * window elements without a regular order, which the backward pass of direct convolution does not
 * support. */
static inline bool conv_strides_and_dilates(const struct kernel_site *site)
{
    const struct conv_attributes *conv = &site->node->attributes.conv;
    const struct window *w = &conv->window;
    return (conv->dilation_height > 1 && w->stride_height > 1) ||
           (conv->dilation_width > 1 && w->stride_width > 1);
}

/* --- the gradient of the weights: partial results of some images each, which are added in order */

enum {
    MAX_PARTIALS = 16,
    PARTIAL_FLOATS = 1 << 22, /* limit for all partial results together, unless one is larger */
};

/* Returns the partial results of a batch, of `floats` floats each. */
static inline size_t conv_partials(size_t batch, size_t floats)
{
    return min_size(batch, min_size(MAX_PARTIALS, max_size(1, PARTIAL_FLOATS / floats)));
}

/* Returns the most bytes that `bytes` returns for the site with its batch or a smaller one: fewer
 * images give fewer partial results, but perhaps other divisions of the work that need more. */
static inline size_t conv_most_bytes(const struct kernel_site *site,
                                     size_t (*bytes)(const struct kernel_site *site))
{
    struct kernel_site smaller = *site;
    size_t most = bytes(site);
    for (smaller.batch = 1; smaller.batch <= min_size(site->batch, MAX_PARTIALS); smaller.batch++)
        most = max_size(most, bytes(&smaller));
    return most;
}

/* conv_weights.c: returns the input's layout, for the forward pass and for the gradient of the
 * weights. */
struct layout KERNEL(conv_input_layout)(const struct conv_sizes *s);

/* Writes where the window elements of input channel i lie in that layout, to
 * offsets[i * taps + element]. */
void KERNEL(conv_input_offsets)(const struct conv_sizes *s, const struct layout *layout,
                                size_t *offsets);

/* conv.c: computes the output. If `accumulate` is set, adds to the output and leaves out the bias.
 */
void KERNEL(conv_forward)(const struct kernel_call *call, bool accumulate);

/* conv.c: computes the input's gradient. Adds `bias` [input channels], unless it is NULL, to a
 * gradient that is not accumulated; transposed convolution needs that. */
void KERNEL(conv_input_backward)(const struct kernel_call *call, const float *bias);

/* Return the bytes of workspace: for all passes of the site, and for the input's gradient only. */
size_t KERNEL(conv_workspace)(const struct kernel_site *site);
size_t KERNEL(conv_input_workspace)(const struct kernel_site *site);

/* Returns whether direct convolution supports the site; if not, sets *reason. */
bool KERNEL(conv_supports)(const struct kernel_site *site, const char **reason);

/* conv_weights.c: compute the gradients of weight and bias. */
size_t KERNEL(conv_weights_workspace)(const struct kernel_site *site);
void KERNEL(conv_weights_backward)(const struct kernel_call *call);
void KERNEL(conv_bias_backward)(const struct kernel_call *call);

#endif
