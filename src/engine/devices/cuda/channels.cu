/* channel_shift and channel_shuffle as copies, for nodes that are not fused into a convolution. A
 * thread copies one value of the moved image; each value of the other image belongs to exactly one
 * thread. */
#include "engine/devices/cuda/kernels.h"
#include "engine/devices/cuda/launch.h"
#include "engine/devices/cuda/moves.h"

struct planes {
    struct divisor channels, height, width;
    uint32_t count; /* values of the batch */
    bool last;      /* they are channels-last */
};

/* Returns the index of a value before the move. If *outside is set, the moved value is 0, and the
 * returned element is one that moved out of the image. */
static __host__ __device__ __forceinline__ uint32_t place_before(const struct planes *p,
                                                                 const struct moves *moves,
                                                                 uint32_t at, bool *outside)
{
    uint32_t x, y, c;
    bool beyond_y, beyond_x;
    uint32_t n = p->last ? divide_rest(at, p->channels, &c) : at;
    n = divide_rest(n, p->width, &x);
    n = divide_rest(n, p->height, &y);
    if (!p->last)
        n = divide_rest(n, p->channels, &c);
    const struct move move = move_of(moves, c);
    y = move_back(y, move.dy, p->height.value, &beyond_y);
    x = move_back(x, move.dx, p->width.value, &beyond_x);
    *outside = beyond_y || beyond_x;
    if (p->last)
        return ((n * p->height.value + y) * p->width.value + x) * p->channels.value + move.channel;
    return ((n * p->channels.value + move.channel) * p->height.value + y) * p->width.value + x;
}

static __global__ void move_values(const float *in, float *out, struct planes planes,
                                   struct moves moves)
{
    for (uint32_t i = stride_first(); i < planes.count; i += stride_step()) {
        bool outside;
        const uint32_t from = place_before(&planes, &moves, i, &outside);
        out[i] = outside ? 0.0f : in[from];
    }
}

static __global__ void move_values_back(const float *g, float *gradient, bool accumulate,
                                        struct planes planes, struct moves moves)
{
    for (uint32_t i = stride_first(); i < planes.count; i += stride_step()) {
        bool outside;
        const uint32_t to = place_before(&planes, &moves, i, &outside);
        gradient_store(&gradient[to], accumulate, outside ? 0.0f : g[i]);
    }
}

static struct planes planes_of(const struct kernel_call *call)
{
    const struct shape shape = call->site->inputs[0];
    return {divisor_of(shape.channels), divisor_of(shape.height), divisor_of(shape.width),
            (uint32_t)input_values(call, 0), call->site->output_layout.channels_last};
}

static void forward_moves(const struct kernel_call *call)
{
    launch(context_of(call), "channel move forward", move_values,
           stride_blocks(input_values(call, 0)), BLOCK, 0, call->inputs[0], call->output,
           planes_of(call), moves_of(call->site->node, call->site->inputs[0].channels));
}

static void backward_moves(const struct kernel_call *call)
{
    if (!call->input_gradients[0])
        return;
    launch(context_of(call), "channel move backward", move_values_back,
           stride_blocks(input_values(call, 0)), BLOCK, 0, call->output_gradient,
           call->input_gradients[0], call->accumulate[0], planes_of(call),
           moves_of(call->site->node, call->site->inputs[0].channels));
}

struct cuda_kernel cuda_channel_shuffle = {
    .op = "channel_shuffle",
    .kernel =
        {
            .name = "channel_shuffle",
            .instruction_set = "cuda",
            .traits = KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .forward = forward_moves,
            .backward = backward_moves,
        },
};
struct cuda_kernel cuda_channel_shift = {
    .op = "channel_shift",
    .kernel =
        {
            .name = "channel_shift",
            .instruction_set = "cuda",
            .traits = KERNEL_CHANNELS_LAST,
            .supports = supports_counts,
            .forward = forward_moves,
            .backward = backward_moves,
        },
};
