/* Channel shift (Wu et al. 2018) with kernel 3: every channel moves by one of the nine offsets
 * (dy, dx) in {-1, 0, 1}^2; zeros fill the edge that it leaves:
 *
 *   output[n, c, y + dy, x + dx] = input[n, c, y, x]
 *
 * Channels [k * G, (k + 1) * G), G = floor(C / 9), move by offset k in raster order: (-1, -1),
 * (-1, 0), ... (1, 1). The last C - 9 G channels stay where they are.
 */
#include "engine/ops/op.h"
#include "engine/ops/reference.h"
#include "engine/ops/rules.h"

static void channel_offset(size_t channels, size_t c, int *dy, int *dx)
{
    const size_t group_channels = channels / 9;
    *dy = *dx = 0;
    if (c >= 9 * group_channels)
        return;
    *dy = (int)(c / group_channels / 3) - 1;
    *dx = (int)(c / group_channels % 3) - 1;
}

/* Sets *from to the row or column that a move by `offset` brings to `at`. Returns false if that
 * lies outside the image. */
static bool arrives_from(size_t at, int offset, size_t size, size_t *from)
{
    *from = at - (size_t)offset;
    return *from < size; /* -1 wraps to the largest size_t */
}

static size_t element(struct shape shape, size_t n, size_t c, size_t y, size_t x)
{
    return ((n * shape.channels + c) * shape.height + y) * shape.width + x;
}

static void forward_channel_shift(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t y = 0; y < shape.height; y++)
                for (size_t x = 0; x < shape.width; x++) {
                    int dy, dx;
                    size_t fy, fx;
                    channel_offset(shape.channels, c, &dy, &dx);
                    bool inside = arrives_from(y, dy, shape.height, &fy) &&
                                  arrives_from(x, dx, shape.width, &fx);
                    call->output[element(shape, n, c, y, x)] =
                        inside ? call->inputs[0][element(shape, n, c, fy, fx)] : 0;
                }
}

/* Moves the gradient in the opposite direction. */
static void backward_channel_shift(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    if (!call->input_gradients[0])
        return;
    for (size_t n = 0; n < call->site->batch; n++)
        for (size_t c = 0; c < shape.channels; c++)
            for (size_t y = 0; y < shape.height; y++)
                for (size_t x = 0; x < shape.width; x++) {
                    int dy, dx;
                    size_t fy, fx;
                    channel_offset(shape.channels, c, &dy, &dx);
                    bool inside = arrives_from(y, -dy, shape.height, &fy) &&
                                  arrives_from(x, -dx, shape.width, &fx);
                    gradient_store(
                        &call->input_gradients[0][element(shape, n, c, y, x)], call->accumulate[0],
                        inside ? call->output_gradient[element(shape, n, c, fy, fx)] : 0);
                }
}

static const struct kernel reference = {
    .name = "channel_shift reference",
    .instruction_set = "any",
    .op = &op_channel_shift,
    .forward = forward_channel_shift,
    .backward = backward_channel_shift,
};

const struct op op_channel_shift = {
    .name = "channel_shift",
    .description = "groups of channels moved by one pixel, each in its own direction",
    .min_inputs = 1,
    .max_inputs = 1,
    .traits = OP_MOVES_CHANNELS,
    .infer = rule_same_shape,
    .reference = &reference,
};
