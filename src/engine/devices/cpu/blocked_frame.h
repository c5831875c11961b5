/* blocked_frame.h: helpers of kernels that multiply each channel of a channel-blocked array by its
 * own value: the arrays of a pass, and the values of a block in the lanes of a vector. Only the
 * kernels of this folder use it. */
#ifndef TINCA_ENGINE_DEVICES_CPU_BLOCKED_FRAME_H
#define TINCA_ENGINE_DEVICES_CPU_BLOCKED_FRAME_H

#include "engine/devices/cpu/blocked.h"

struct blocked_frame {
    const struct kernel_call *call;
    struct blocked in, out;     /* backward: the input and its gradient */
    struct blocked gradient;    /* backward: that of the output */
    struct blocked_tasks tasks; /* forward */
};

static inline struct blocked_frame blocked_frame_forward(const struct kernel_call *call)
{
    struct blocked_frame frame = {
        .call = call, .in = blocked_input(call, 0), .out = blocked_output(call)};
    frame.tasks = blocked_tasks_of(call, &frame.out, 2 * frame.out.shape.width);
    return frame;
}

/* Returns the arrays of a backward pass; `out` has no values if the input needs no gradient. */
static inline struct blocked_frame blocked_frame_backward(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    return (struct blocked_frame){
        .call = call,
        .in = blocked_input(call, 0),
        .out = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]),
        .gradient = blocked_make(call->output_gradient, site->node->output, site->output_layout)};
}

/* Returns the values of the channels of block `plane`, from those of all channels of an image; 0 in
 * unused lanes. */
static inline vector blocked_channel_values(const float *values, size_t channels, size_t plane)
{
    const size_t used = min_size(LANES, channels - plane * LANES);
    vector lanes = {0};
    for (size_t lane = 0; lane < used; lane++)
        lanes[lane] = values[plane * LANES + lane];
    return lanes;
}

#endif
