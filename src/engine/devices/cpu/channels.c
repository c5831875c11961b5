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

static size_t plane_end(const struct kernel_call *call, size_t task)
{
    const struct shape shape = call->site->inputs[0];
    return min_size(call->site->batch * shape.channels,
                    (task + 1) * planes_in_task(shape_area(shape)));
}

/* Writes to[y + dy][x + dx] = from[y][x], and zeros at the edge that becomes free. If `accumulate`
 * is set, adds the values instead. */
static void move_plane(const float *from, float *to, struct shape shape, ptrdiff_t dy, ptrdiff_t dx,
                       bool accumulate)
{
    if (dy == 0 && dx == 0) {
        store_or_add(to, from, shape_area(shape), accumulate);
        return;
    }
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

/* Writes the planes of a task from where their channels come from or, `back`, moves their gradients
 * there. */
static void move_planes(const struct kernel_call *call, size_t task, bool back)
{
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    const struct channel_moves moves = {call->site->node, shape.channels};
    for (size_t p = task * planes_in_task(area); p < plane_end(call, task); p++) {
        const struct channel_move move = channel_move_of(&moves, p % shape.channels);
        const size_t other = p / shape.channels * shape.channels + move.channel;
        if (back)
            move_plane(call->output_gradient + p * area, call->input_gradients[0] + other * area,
                       shape, -move.dy, -move.dx, call->accumulate[0]);
        else
            move_plane(call->inputs[0] + other * area, call->output + p * area, shape, move.dy,
                       move.dx, false);
    }
}

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    move_planes(context, task, false);
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    move_planes(context, task, true);
}

static void forward(const struct kernel_call *call)
{
    run_tasks(call, plane_tasks(call), forward_task, call);
}

static void backward(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, plane_tasks(call), backward_task, call);
}

const struct kernel KERNEL(channel_shuffle) = {
    .name = "channel_shuffle copy",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shuffle,
    .forward = forward,
    .backward = backward,
};

const struct kernel KERNEL(channel_shift) = {
    .name = "channel_shift copy",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shift,
    .forward = forward,
    .backward = backward,
};
