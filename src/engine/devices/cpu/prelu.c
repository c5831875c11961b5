/* PReLU: leaky_relu whose slope each channel learns. A plain array is divided into planes, each one
 * channel of one image; a channel-blocked one has the slopes of a block in the lanes of a vector.
 * The sums of the slopes' gradients are taken by channel or block, over the images in order, so
 * that threads share none of them. */
#include "base/language.h"
#include "engine/devices/cpu/blocked_frame.h"

/* --- plain arrays --- */

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape), planes = call->site->batch * shape.channels;
    const size_t some = planes_in_task(area), end = min_size(planes, (task + 1) * some);
    for (size_t plane = task * some; plane < end; plane++) {
        const float slope = call->parameters[0][plane % shape.channels];
        const float *x = call->inputs[0] + plane * area;
        float *y = call->output + plane * area;
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            y[i] = x[i] > 0 ? x[i] : slope * x[i];
    }
}

static void forward_prelu(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    run_tasks(call,
              divide_up(call->site->batch * shape.channels, planes_in_task(shape_area(shape))),
              forward_task, call);
}

/* Returns the sum of g x over the values of a plane that are not positive. */
static double plane_sum(const float *x, const float *g, size_t area)
{
    double total = 0;
    for (size_t at = 0; at < area; at += BLOCK) {
        const size_t end = min_size(area, at + BLOCK);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = at; i < end; i++)
            sum += x[i] > 0 ? 0 : g[i] * x[i];
        total += sum;
    }
    return total;
}

static void write_gradient(float *to, const float *x, const float *g, float slope, size_t area,
                           bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] += x[i] > 0 ? g[i] : slope * g[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] = x[i] > 0 ? g[i] : slope * g[i];
    }
}

/* Writes the gradients of one channel of all images. */
static void backward_task(void *context, size_t channel, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const struct shape shape = call->site->inputs[0];
    const size_t area = shape_area(shape);
    double sum = 0;
    for (size_t n = 0; n < call->site->batch; n++) {
        const size_t at = (n * shape.channels + channel) * area;
        const float *x = call->inputs[0] + at, *g = call->output_gradient + at;
        sum += plane_sum(x, g, area);
        if (call->input_gradients[0])
            write_gradient(call->input_gradients[0] + at, x, g, call->parameters[0][channel], area,
                           call->accumulate[0]);
    }
    if (call->parameter_gradients[0])
        call->parameter_gradients[0][channel] = (float)sum;
}

static void backward_prelu(const struct kernel_call *call)
{
    run_tasks(call, call->site->inputs[0].channels, backward_task, call);
}

/* --- channel-blocked arrays --- */

/* Returns the slopes of a block. */
static vector slopes_of(const struct blocked_frame *p, size_t plane)
{
    return blocked_channel_values(p->call->parameters[0], p->in.shape.channels, plane);
}

/* Returns a where x is positive, elsewhere b. */
static inline vector choose(vector x, vector a, vector b)
{
    const vector_indices positive = x > 0;
    return (vector)((positive & (vector_indices)a) | (~positive & (vector_indices)b));
}

static void blocked_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_frame *p = context;
    struct row_block block = blocked_first(&p->tasks, task);
    while (blocked_next(&p->tasks, &block)) {
        const vector slopes = slopes_of(p, block.plane);
        for (size_t y = block.begin; y < block.end; y++) {
            const element *from = blocked_at(&p->in, block.image, block.plane, y);
            element *to = blocked_at(&p->out, block.image, block.plane, y);
            for (size_t i = 0; i < p->out.shape.width * LANES; i += LANES) {
                const vector x = element_load(from + i);
                element_store(to + i, choose(x, x, slopes * x));
            }
        }
        blocked_pad(&p->out, block.image, block.plane, block.begin, block.end);
    }
}

static void forward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame p = blocked_frame_forward(call);
    run_tasks(call, p.tasks.count, blocked_forward_task, &p);
}

/* Writes the gradient of a row, if it is wanted; returns the sum of g x where x is not positive. */
static vector backward_row(const struct blocked_frame *p, const element *from, const element *g,
                           element *to, vector slopes, bool accumulate)
{
    vector sum = {0};
    for (size_t i = 0; i < p->in.shape.width * LANES; i += LANES) {
        const vector x = element_load(from + i), gradient = element_load(g + i);
        const vector scaled = choose(x, gradient, slopes * gradient);
        sum += choose(x, (vector){0}, gradient * x);
        if (to)
            element_store(to + i, accumulate ? element_load(to + i) + scaled : scaled);
    }
    return sum;
}

/* Writes the gradients of one block of all images. */
static void blocked_backward_task(void *context, size_t plane, size_t thread)
{
    (void)thread;
    const struct blocked_frame *p = context;
    const struct kernel_call *call = p->call;
    const vector slopes = slopes_of(p, plane);
    double sums[LANES] = {0};
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t y = 0; y < p->in.shape.height; y++) {
            element *to = p->out.values ? blocked_at(&p->out, n, plane, y) : NULL;
            const vector sum = backward_row(p, blocked_at(&p->in, n, plane, y),
                                            blocked_at(&p->gradient, n, plane, y), to, slopes,
                                            call->accumulate[0]);
            for (size_t lane = 0; lane < LANES; lane++)
                sums[lane] += sum[lane];
        }
    for (size_t lane = 0; lane < min_size(LANES, p->in.shape.channels - plane * LANES); lane++)
        if (call->parameter_gradients[0])
            call->parameter_gradients[0][plane * LANES + lane] = (float)sums[lane];
}

static void backward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame p = blocked_frame_backward(call);
    run_tasks(call, blocked_planes(&p.in), blocked_backward_task, &p);
}

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE };

const struct kernel KERNEL(prelu_blocked) = {
    .name = "prelu blocked",
    .instruction_set = ISA_NAME,
    .op = &op_prelu,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | TRAITS,
    .supports = KERNEL(blocked_supports),
    .forward = forward_blocked,
    .backward = backward_blocked,
};

const struct kernel KERNEL(prelu) = {
    .name = "prelu simd",
    .instruction_set = ISA_NAME,
    .op = &op_prelu,
    .traits = TRAITS,
    .forward = forward_prelu,
    .backward = backward_prelu,
};
