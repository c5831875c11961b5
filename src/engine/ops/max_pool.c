/* Max pooling: the largest value of each window; padding is ignored. Of equal values the first in
 * raster order counts, and NaN counts as the largest value, so that it is noticed (both as in
 * PyTorch). The forward pass saves the position of each maximum in its channel's plane.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

#include <math.h>

/* Returns the position in `plane` [H,W] of the maximum under the window at (y, x). */
static size_t find_maximum(const float *plane, struct shape in, const struct window *w, size_t y,
                           size_t x)
{
    size_t best = 0, iy, ix;
    bool found = false;
    for (size_t ky = 0; ky < w->kernel_height; ky++)
        for (size_t kx = 0; kx < w->kernel_width; kx++) {
            if (!window_tap(y, ky, w->stride_height, w->pad_height, in.height, &iy) ||
                !window_tap(x, kx, w->stride_width, w->pad_width, in.width, &ix))
                continue;
            size_t position = iy * in.width + ix;
            if (!found || plane[position] > plane[best] || isnan(plane[position]))
                best = position;
            found = true;
        }
    return best;
}

static size_t saved_max_pool(const struct kernel_site *site)
{
    return site->training ? site->batch * shape_count(site->node->output) * sizeof(int32_t) : 0;
}

static void forward_max_pool(const struct kernel_call *call)
{
    const struct window *w = &call->site->node->attributes.pool.window;
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    int32_t *positions = call->site->training ? call->saved : NULL;
    for (size_t plane = 0; plane < call->site->batch * in.channels; plane++)
        for (size_t y = 0; y < out.height; y++)
            for (size_t x = 0; x < out.width; x++) {
                const float *input = call->inputs[0] + plane * shape_area(in);
                size_t at = (plane * out.height + y) * out.width + x;
                size_t best = find_maximum(input, in, w, y, x);
                call->output[at] = input[best];
                if (positions)
                    positions[at] = (int32_t)best;
            }
}

static void backward_max_pool(const struct kernel_call *call)
{
    const struct shape in = call->site->inputs[0], out = call->site->node->output;
    const int32_t *positions = call->saved;
    if (!call->input_gradients[0])
        return;
    gradient_begin(call->input_gradients[0], call->accumulate[0], input_values(call));
    for (size_t plane = 0; plane < call->site->batch * in.channels; plane++)
        for (size_t i = 0; i < shape_area(out); i++) {
            size_t at = plane * shape_area(out) + i;
            call->input_gradients[0][plane * shape_area(in) + (size_t)positions[at]] +=
                call->output_gradient[at];
        }
}

static bool infer_max_pool(struct graph *graph, struct node *node, const struct shape *inputs,
                           struct error *error)
{
    if (shape_area(inputs[0]) > INT32_MAX) /* positions are saved as int32 */
        return error_set(error, ERROR_INPUT, node->name, "reduce the image first",
                         "max_pool: an image of %zu x %zu is too large", inputs[0].height,
                         inputs[0].width);
    return rule_pool(graph, node, inputs, error);
}

static const struct kernel reference = {
    .name = "max_pool reference",
    .instruction_set = "any",
    .op = &op_max_pool,
    .saved_bytes = saved_max_pool,
    .forward = forward_max_pool,
    .backward = backward_max_pool,
};

const struct op op_max_pool = {
    .name = "max_pool",
    .description = "the largest value of each window, or of the whole image",
    .min_inputs = 1,
    .max_inputs = 1,
    .read = rule_read_pool,
    .write = rule_write_pool,
    .infer = infer_max_pool,
    .reference = &reference,
};
