/* channel_shuffle and channel_shift as copies of planes, for nodes that are not fused into a
 * convolution (channel_moves.h). A task is a few planes of the output (forward) or of the output's
 * gradient (backward); no two tasks write to the same memory. */
#include "engine/devices/cpu/channel_moves.h"
#include "engine/devices/cpu/simd.h"

#include <string.h>

static size_t plane_tasks(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    return divide_up(call->site->batch * shape.channels, planes_in_task(shape_area(shape)));
}

static struct channel_move move_of(const struct kernel_call *call, size_t channel)
{
    const struct channel_moves moves = {call->site->node, call->site->inputs[0].channels};
    return channel_move_of(&moves, channel);
}

static size_t plane_end(const struct kernel_call *call, size_t task)
{
    const struct shape shape = call->site->inputs[0];
    return min_size(call->site->batch * shape.channels,
                    (task + 1) * planes_in_task(shape_area(shape)));
}

/* --- shuffle: transposes the channels as a table [groups, C / groups] --- */

static void shuffle_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    for (size_t p = task * planes_in_task(area); p < plane_end(call, task); p++) {
        const size_t n = p / shape.channels, c = p % shape.channels;
        store_or_add(call->output + p * area,
                     call->inputs[0] + (n * shape.channels + move_of(call, c).channel) * area, area,
                     false);
    }
}

static void unshuffle_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    for (size_t p = task * planes_in_task(area); p < plane_end(call, task); p++) {
        const size_t n = p / shape.channels, c = p % shape.channels;
        store_or_add(call->input_gradients[0] +
                         (n * shape.channels + move_of(call, c).channel) * area,
                     call->output_gradient + p * area, area, call->accumulate[0]);
    }
}

static void shuffle_forward(const struct kernel_call *call)
{
    run_tasks(call, plane_tasks(call), shuffle_task, call);
}

static void shuffle_backward(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, plane_tasks(call), unshuffle_task, call);
}

const struct kernel KERNEL(channel_shuffle) = {
    .name = "channel_shuffle copy",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shuffle,
    .forward = shuffle_forward,
    .backward = shuffle_backward,
};

/* --- shift --- */

/* Writes to[y + dy][x + dx] = from[y][x], and zeros at the edge that becomes free. If `accumulate`
 * is set, adds the values instead. */
static void move_plane(const float *from, float *to, struct shape shape, ptrdiff_t dy, ptrdiff_t dx,
                       bool accumulate)
{
    const ptrdiff_t height = (ptrdiff_t)shape.height, width = (ptrdiff_t)shape.width;
    const ptrdiff_t begin = dx > 0 ? min_size(1, shape.width) : 0;
    const ptrdiff_t end = dx < 0 ? width - 1 : width;
    for (ptrdiff_t y = 0; y < height; y++, to += width) {
        const bool arrives = y - dy >= 0 && y - dy < height && begin < end;
        if (!accumulate) {
            memset(to, 0, (size_t)(arrives ? begin : width) * sizeof *to);
            if (arrives)
                memset(to + end, 0, (size_t)(width - end) * sizeof *to);
        }
        if (arrives)
            store_or_add(to + begin, from + (y - dy) * width + begin - dx, (size_t)(end - begin),
                         accumulate);
    }
}

static void shift_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    for (size_t p = task * planes_in_task(area); p < plane_end(call, task); p++) {
        const struct channel_move move = move_of(call, p % shape.channels);
        move_plane(call->inputs[0] + p * area, call->output + p * area, shape, move.dy, move.dx,
                   false);
    }
}

static void unshift_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    for (size_t p = task * planes_in_task(area); p < plane_end(call, task); p++) {
        const struct channel_move move = move_of(call, p % shape.channels);
        move_plane(call->output_gradient + p * area, call->input_gradients[0] + p * area, shape,
                   -move.dy, -move.dx, call->accumulate[0]);
    }
}

static void shift_forward(const struct kernel_call *call)
{
    run_tasks(call, plane_tasks(call), shift_task, call);
}

static void shift_backward(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, plane_tasks(call), unshift_task, call);
}

const struct kernel KERNEL(channel_shift) = {
    .name = "channel_shift copy",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shift,
    .forward = shift_forward,
    .backward = shift_backward,
};
