/* Average pooling: the mean of each window, where padding counts as zeros (the rule of Caffe, and
 * of PyTorch with count_include_pad=True). In ceil mode a window may reach beyond the far padding;
 * positions there are neither summed nor counted.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

/* Returns how many elements of the window at `out` lie in the image or its padding, on one axis. */
static size_t counted(size_t out, size_t kernel, size_t stride, size_t pad, size_t size)
{
    size_t start = out * stride, end = start + kernel, limit = size + 2 * pad;
    return (end < limit ? end : limit) - start;
}

static size_t window_area(const struct window *w, struct shape in, size_t y, size_t x)
{
    return counted(y, w->kernel_height, w->stride_height, w->pad_height, in.height) *
           counted(x, w->kernel_width, w->stride_width, w->pad_width, in.width);
}

static float window_mean(const float *plane, struct shape in, const struct window *w, size_t y,
                         size_t x)
{
    double sum = 0;
    size_t iy, ix;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++)
            if (window_tap(y, ky, w->stride_height, w->pad_height, in.height, &iy) &&
                window_tap(x, kx, w->stride_width, w->pad_width, in.width, &ix))
                sum += plane[iy * in.width + ix];
    return (float)(sum / (double)window_area(w, in, y, x));
}

static void forward_average_pool(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    for (size_t plane = 0; plane < call->site->batch * in.channels; plane++)
        for (size_t y = 0; y < out.height; y++)
            for (size_t x = 0; x < out.width; x++)
                call->output[(plane * out.height + y) * out.width + x] =
                    window_mean(call->inputs[0] + plane * shape_area(in), in, w, y, x);
}

/* Divides the gradient of one output equally among the elements of its window and adds it there. */
static void spread(float *plane, struct shape in, const struct window *w, size_t y, size_t x,
                   float gradient)
{
    float share = gradient / (float)window_area(w, in, y, x);
    size_t iy, ix;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++)
            if (window_tap(y, ky, w->stride_height, w->pad_height, in.height, &iy) &&
                window_tap(x, kx, w->stride_width, w->pad_width, in.width, &ix))
                plane[iy * in.width + ix] += share;
}

static void backward_average_pool(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    if (!call->input_gradients[0])
        return;
    gradient_begin(call->input_gradients[0], call->accumulate[0], input_values(call));
    for (size_t plane = 0; plane < call->site->batch * in.channels; plane++)
        for (size_t y = 0; y < out.height; y++)
            for (size_t x = 0; x < out.width; x++)
                spread(call->input_gradients[0] + plane * shape_area(in), in, w, y, x,
                       call->output_gradient[(plane * out.height + y) * out.width + x]);
}

static const struct kernel reference = {
    .name = "average_pool reference",
    .instruction_set = "any",
    .op = &op_average_pool,
    .forward = forward_average_pool,
    .backward = backward_average_pool,
};

const struct op op_average_pool = {
    .name = "average_pool",
    .description = "the mean of each window, or of the whole image",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = rule_read_pool,
    .write = rule_write_pool,
    .infer = rule_pool,
    .reference = &reference,
};
