/* fake_quantize: values rounded to the grid of a quantization. The value is clamped before it is
 * rounded, which gives the same integer, since the limits are integers. */
#include "base/language.h"
#include "engine/devices/cpu/blocked_frame.h"

#include <math.h>

/* The grid around 0: integers of low to high, times the scale. */
struct grid {
    float scale, inverse, low, high;
};

static struct grid grid_of(const struct kernel_call *call)
{
    const struct quantization q = call->site->node->attributes.fake_quantize;
    return (struct grid){q.scale, 1 / q.scale, (float)-q.zero_point,
                         (float)(QUANTIZED_MAX - q.zero_point)};
}

/* Writes the rounded values; NaN stays NaN, because both comparisons with it are false. */
static void round_values(const struct grid *grid, const float *from, float *to, size_t count)
{
    const struct grid g = *grid;
#pragma omp simd
    for (size_t i = 0; i < count; i++) {
        float position = from[i] * g.inverse;
        position = position < g.low ? g.low : position;
        position = position > g.high ? g.high : position;
        to[i] = g.scale * rintf(position);
    }
}

/* --- plain arrays, and any in training --- */

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct grid grid = grid_of(call);
    const size_t begin = task * BLOCK, end = block_end(output_values(call), task);
    round_values(&grid, call->inputs[0] + begin, call->output + begin, end - begin);
}

static void forward_fake_quantize(const struct kernel_call *call)
{
    run_tasks(call, block_count(output_values(call)), forward_task, call);
}

static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct grid g = grid_of(call);
    const size_t begin = task * BLOCK, end = block_end(output_values(call), task);
    const float *x = call->inputs[0], *from = call->output_gradient;
    const float kept = call->accumulate[0] ? 1 : 0;
    float *to = call->input_gradients[0];
#pragma omp simd
    for (size_t i = begin; i < end; i++) {
        const float position = rintf(x[i] * g.inverse);
        const float passed = position >= g.low && position <= g.high ? from[i] : 0;
        to[i] = kept > 0 ? to[i] + passed : passed;
    }
}

static void backward_fake_quantize(const struct kernel_call *call)
{
    if (call->input_gradients[0])
        run_tasks(call, block_count(output_values(call)), backward_task, call);
}

const struct kernel KERNEL(fake_quantize) = {
    .name = "fake_quantize simd",
    .instruction_set = ISA_NAME,
    .op = &op_fake_quantize,
    .traits = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE |
              KERNEL_ANY_LAYOUT,
    .forward = forward_fake_quantize,
    .backward = backward_fake_quantize,
};

/* --- channel-blocked arrays in inference --- */

static void blocked_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_frame *p = context;
    const struct grid grid = grid_of(p->call);
    struct row_block block = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &block)) {
        for (size_t y = block.begin; y < block.end; y++)
            round_values(&grid, blocked_at(&p->in, block.image, block.plane, y),
                         blocked_at(&p->out, block.image, block.plane, y),
                         p->out.shape.width * LANES);
        blocked_pad(&p->out, block.image, block.plane, block.begin, block.end);
    }
}

static void forward_blocked(const struct kernel_call *call)
{
    struct blocked_frame frame = blocked_frame_forward(call);
    run_tasks(call, frame.tasks.count, blocked_task, &frame);
}

const struct kernel KERNEL(fake_quantize_blocked) = {
    .name = "fake_quantize blocked",
    .instruction_set = ISA_NAME,
    .op = &op_fake_quantize,
    .traits = KERNEL_BLOCKED | KERNEL_IN_PLACE,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
};
