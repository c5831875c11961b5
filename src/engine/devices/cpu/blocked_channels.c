/* Operators that only move values, on channel-blocked arrays in inference: concat where its inputs
 * are not computed in place, channel_shuffle and channel_shift where no convolution reads through
 * them, and flatten, which needs the plain order of values. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/channel_moves.h"

/* --- concat --- */

struct joining {
    const struct kernel_call *call;
    struct blocked out;
    struct blocked_tasks tasks;
};

static void copy_band(const struct joining *joining, const struct blocked_band *band)
{
    size_t k = 0, plane = band->plane;
    struct blocked in = blocked_input(joining->call, 0);
    while (plane >= blocked_planes(&in)) {
        plane -= blocked_planes(&in);
        in = blocked_input(joining->call, ++k);
    }
    for (size_t y = band->begin; y < band->end; y++)
        memcpy(blocked_at(&joining->out, band->image, band->plane, y),
               blocked_at(&in, band->image, plane, y), in.shape.width * LANES * sizeof(float));
    blocked_pad(&joining->out, band->image, band->plane, band->begin, band->end);
}

static void concat_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct joining *joining = context;
    struct blocked_band band = blocked_first(&joining->tasks, task);
    while (blocked_next(&joining->tasks, &band))
        copy_band(joining, &band);
}

static void forward_concat(const struct kernel_call *call)
{
    struct joining joining = {.call = call, .out = blocked_output(call)};
    joining.tasks = blocked_tasks_of(call, &joining.out, 2 * joining.out.shape.width);
    run_tasks(call, joining.tasks.count, concat_task, &joining);
}

static bool supports_concat(const struct kernel_site *site, const char **reason)
{
    const size_t inputs = site->node->input_count;
    if (!KERNEL(blocked_supports)(site, reason))
        return false;
    for (size_t k = 0; k < inputs; k++) {
        *reason = N_("a plain layout");
        if (site->layouts[k].block != LANES)
            return false;
        *reason = N_("an input that does not fill its last block");
        if (k + 1 < inputs && site->inputs[k].channels % LANES != 0)
            return false;
    }
    return true;
}

/* --- channel_shuffle and channel_shift --- */

struct moving {
    struct channel_moves moves;
    struct blocked in, out;
    struct blocked_tasks tasks;
};

/* Moves one lane of a row; `from` is the row of the input channel, or NULL if it lies outside. */
static void move_lane(const struct moving *moving, const struct channel_move *move,
                      const float *from, float *to)
{
    const size_t width = moving->out.shape.width;
    for (size_t x = 0; x < width; x++) {
        const size_t source = x - (size_t)move->dx; /* -1 wraps to the largest size_t */
        to[x * LANES] = from && source < width ? from[source * LANES] : 0;
    }
}

static void move_band(const struct moving *moving, const struct blocked_band *band)
{
    const size_t channels = moving->out.shape.channels;
    for (size_t y = band->begin; y < band->end; y++)
        for (size_t lane = 0; lane < LANES; lane++) {
            const size_t channel = band->plane * LANES + lane;
            const struct channel_move move =
                channel_move_of(&moving->moves, min_size(channel, channels - 1));
            const size_t row = y - (size_t)move.dy;
            const bool inside = channel < channels && row < moving->in.shape.height;
            const float *from =
                inside ? blocked_at(&moving->in, band->image, move.channel / LANES, row) +
                             move.channel % LANES
                       : NULL;
            move_lane(moving, &move, from,
                      blocked_at(&moving->out, band->image, band->plane, y) + lane);
        }
    blocked_pad(&moving->out, band->image, band->plane, band->begin, band->end);
}

static void move_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct moving *moving = context;
    struct blocked_band band = blocked_first(&moving->tasks, task);
    while (blocked_next(&moving->tasks, &band))
        move_band(moving, &band);
}

static void forward_move(const struct kernel_call *call)
{
    struct moving moving = {
        .moves = {.fused_move = call->site->node, .channels = call->site->inputs[0].channels},
        .in = blocked_input(call, 0),
        .out = blocked_output(call)};
    moving.tasks = blocked_tasks_of(call, &moving.out, 4 * moving.out.row);
    run_tasks(call, moving.tasks.count, move_task, &moving);
}

/* --- flatten --- */

static void forward_flatten(const struct kernel_call *call)
{
    KERNEL(copy_to_plain)
    (call->pool, call->site->layouts[0], call->site->inputs[0], call->site->batch, call->inputs[0],
     call->output);
}

static bool supports_flatten(const struct kernel_site *site, const char **reason)
{
    *reason = N_("a plain layout");
    return site->layouts[0].block == LANES;
}

/* --- the kernels --- */

const struct kernel KERNEL(concat_blocked) = {
    .name = "concat blocked",
    .instruction_set = ISA_NAME,
    .op = &op_concat,
    .traits = KERNEL_BLOCKED,
    .supports = supports_concat,
    .forward = forward_concat,
};

const struct kernel KERNEL(channel_shuffle_blocked) = {
    .name = "channel_shuffle blocked",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shuffle,
    .traits = KERNEL_BLOCKED,
    .supports = KERNEL(blocked_supports),
    .forward = forward_move,
};

const struct kernel KERNEL(channel_shift_blocked) = {
    .name = "channel_shift blocked",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shift,
    .traits = KERNEL_BLOCKED,
    .supports = KERNEL(blocked_supports),
    .forward = forward_move,
};

const struct kernel KERNEL(flatten_blocked) = {
    .name = "flatten blocked",
    .instruction_set = ISA_NAME,
    .op = &op_flatten,
    .traits = KERNEL_BLOCKED,
    .supports = supports_flatten,
    .forward = forward_flatten,
};
