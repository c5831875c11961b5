/* channel_scale: each channel of an image times one factor. A plain array is divided into planes,
 * each one channel of one image; a channel-blocked one has the factors of a block, which come from
 * a plain vector, in the lanes of a vector. */
#include "base/language.h"
#include "engine/devices/cpu/blocked_frame.h"

/* --- plain arrays --- */

static size_t plain_tasks(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    return divide_up(call->site->batch * shape.channels, planes_in_task(shape_area(shape)));
}

/* Sets [*begin, *end) to the planes of a task. */
static void planes_of(const struct kernel_call *call, size_t task, size_t *begin, size_t *end)
{
    const struct shape shape = call->site->inputs[0];
    const size_t some = planes_in_task(shape_area(shape));
    *begin = task * some;
    *end = min_size(call->site->batch * shape.channels, *begin + some);
}

static void forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t area = shape_area(call->site->inputs[0]);
    size_t plane, end;
    for (planes_of(call, task, &plane, &end); plane < end; plane++) {
        const float factor = call->inputs[1][plane];
        const float *x = call->inputs[0] + plane * area;
        float *y = call->output + plane * area;
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            y[i] = x[i] * factor;
    }
}

static void forward_scale(const struct kernel_call *call)
{
    run_tasks(call, plain_tasks(call), forward_task, call);
}

/* Returns the sum of g x over a plane. */
static double plane_sum(const float *x, const float *g, size_t area)
{
    double total = 0;
    for (size_t at = 0; at < area; at += BLOCK) {
        const size_t end = min_size(area, at + BLOCK);
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = at; i < end; i++)
            sum += g[i] * x[i];
        total += sum;
    }
    return total;
}

static void write_gradient(float *to, const float *g, float factor, size_t area, bool accumulate)
{
    if (accumulate) {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] += g[i] * factor;
    } else {
#pragma omp simd
        for (size_t i = 0; i < area; i++)
            to[i] = g[i] * factor;
    }
}

/* Writes both gradients of some planes. The factor's comes second, since it is added to the first
 * if both inputs are one node. */
static void backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct kernel_call *call = context;
    const size_t area = shape_area(call->site->inputs[0]);
    size_t plane, end;
    for (planes_of(call, task, &plane, &end); plane < end; plane++) {
        const float *x = call->inputs[0] + plane * area;
        const float *g = call->output_gradient + plane * area;
        const float sum = (float)plane_sum(x, g, area);
        if (call->input_gradients[0])
            write_gradient(call->input_gradients[0] + plane * area, g, call->inputs[1][plane], area,
                           call->accumulate[0]);
        if (call->input_gradients[1])
            store_or_add(call->input_gradients[1] + plane, &sum, 1, call->accumulate[1]);
    }
}

static void backward_scale(const struct kernel_call *call)
{
    run_tasks(call, plain_tasks(call), backward_task, call);
}

/* --- channel-blocked arrays --- */

/* Returns the factors of a block of an image. */
static vector factors_of(const struct blocked_frame *s, size_t image, size_t plane)
{
    const size_t channels = s->in.shape.channels;
    return blocked_channel_values(s->call->inputs[1] + image * channels, channels, plane);
}

static void blocked_forward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_frame *s = context;
    struct row_block block = blocked_first(&s->tasks, task);
    while (blocked_next(&s->tasks, &block)) {
        const vector factors = factors_of(s, block.image, block.plane);
        for (size_t y = block.begin; y < block.end; y++) {
            const element *from = blocked_at(&s->in, block.image, block.plane, y);
            element *to = blocked_at(&s->out, block.image, block.plane, y);
            for (size_t i = 0; i < s->out.shape.width * LANES; i += LANES)
                element_store(to + i, element_load(from + i) * factors);
        }
        blocked_pad(&s->out, block.image, block.plane, block.begin, block.end);
    }
}

static void forward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame s = blocked_frame_forward(call);
    run_tasks(call, s.tasks.count, blocked_forward_task, &s);
}

/* Writes the gradient of a row, if it is wanted; returns the sum of g x. */
static vector backward_row(const struct blocked_frame *s, const element *from, const element *g,
                           element *to, vector factors)
{
    const bool accumulate = s->call->accumulate[0];
    vector sum = {0};
    for (size_t i = 0; i < s->in.shape.width * LANES; i += LANES) {
        const vector gradient = element_load(g + i), scaled = gradient * factors;
        sum += gradient * element_load(from + i);
        if (to)
            element_store(to + i, accumulate ? element_load(to + i) + scaled : scaled);
    }
    return sum;
}

static void store_sums(const struct kernel_call *call, size_t image, size_t plane,
                       const double *sums)
{
    const size_t all = call->site->inputs[0].channels;
    float *to = call->input_gradients[1] + image * all + plane * LANES;
    for (size_t lane = 0; lane < min_size(LANES, all - plane * LANES); lane++)
        to[lane] = (float)(sums[lane] + (call->accumulate[1] ? to[lane] : 0));
}

/* Writes both gradients of one block of one image. */
static void blocked_backward_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct blocked_frame *s = context;
    const size_t planes = blocked_planes(&s->in), image = task / planes, plane = task % planes;
    const vector factors = factors_of(s, image, plane);
    double sums[LANES] = {0};
    for (size_t y = 0; y < s->in.shape.height; y++) {
        element *to = s->out.values ? blocked_at(&s->out, image, plane, y) : NULL;
        const vector sum = backward_row(s, blocked_at(&s->in, image, plane, y),
                                        blocked_at(&s->gradient, image, plane, y), to, factors);
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += sum[lane];
    }
    if (s->call->input_gradients[1])
        store_sums(s->call, image, plane, sums);
}

static void backward_blocked(const struct kernel_call *call)
{
    const struct blocked_frame s = blocked_frame_backward(call);
    run_tasks(call, call->site->batch * blocked_planes(&s.in), blocked_backward_task, &s);
}

/* Returns whether the input and the output are channel-blocked; the factors, one value for each
 * channel, never are. */
static bool supports_blocked(const struct kernel_site *site, const char **reason)
{
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    *reason = N_("factors with a channel-blocked layout");
    return !site->layouts[1].block;
}

enum { TRAITS = KERNEL_IN_PLACE | KERNEL_BACKWARD_READS_INPUT | KERNEL_GRADIENT_IN_PLACE };

const struct kernel KERNEL(channel_scale_blocked) = {
    .name = "channel_scale blocked",
    .instruction_set = ISA_NAME,
    .op = &op_channel_scale,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS | TRAITS,
    .supports = supports_blocked,
    .forward = forward_blocked,
    .backward = backward_blocked,
};

const struct kernel KERNEL(channel_scale) = {
    .name = "channel_scale simd",
    .instruction_set = ISA_NAME,
    .op = &op_channel_scale,
    .traits = TRAITS,
    .forward = forward_scale,
    .backward = backward_scale,
};
