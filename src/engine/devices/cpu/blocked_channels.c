/* Operators that only move values, on channel-blocked arrays: channel_shuffle and channel_shift
 * where they are not fused into a convolution, flatten, which needs the plain order of values, and,
 * in inference, concat where its inputs are not computed in place. */
#include "base/language.h"
#include "engine/devices/cpu/blocked.h"
#include "engine/devices/cpu/channel_moves.h"

/* --- concat --- */

struct joining {
    const struct kernel_call *call;
    struct blocked out;
    struct blocked_tasks tasks;
};

static void copy_row_block(const struct joining *joining, const struct row_block *block)
{
    size_t k = 0, plane = block->plane;
    struct blocked in = blocked_input(joining->call, 0);
    while (plane >= blocked_planes(&in)) {
        plane -= blocked_planes(&in);
        in = blocked_input(joining->call, ++k);
    }
    for (size_t y = block->begin; y < block->end; y++)
        memcpy(blocked_at(&joining->out, block->image, block->plane, y),
               blocked_at(&in, block->image, plane, y), in.shape.width * LANES * sizeof(element));
    blocked_pad(&joining->out, block->image, block->plane, block->begin, block->end);
}

static void concat_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct joining *joining = context;
    struct row_block block = blocked_first(&joining->tasks, task);
    while (blocked_next(&joining->tasks, &block))
        copy_row_block(joining, &block);
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

/* Lanes of one block of results that come from the same block and by the same distance. */
struct lane_set {
    size_t plane;
    ptrdiff_t dy, dx;      /* value (y, x) comes from (y - dy, x - dx) */
    vector_indices places; /* by lane: its lane in the source */
    vector_indices used;   /* all bits are set in the lanes that belong to the set */
};

/* A move of the values from one array to another: forward, or the gradient back. */
struct moving {
    struct blocked from, to;
    bool accumulate;
    struct blocked_tasks tasks;
    struct lane_set *sets; /* [block][LANES] */
    size_t *counts;        /* sets of a block */
};

static struct moving moving_of(const struct kernel_site *site, struct carve *carve)
{
    const size_t planes = divide_up(site->inputs[0].channels, LANES);
    struct moving moving = {0};
    moving.sets = carve_bytes(carve, planes * LANES * sizeof *moving.sets);
    moving.counts = carve_bytes(carve, planes * sizeof *moving.counts);
    return moving;
}

static size_t workspace_move(const struct kernel_site *site)
{
    struct carve carve = {0};
    moving_of(site, &carve);
    return carve.used;
}

/* Returns where the gradient of input channel `channel` comes from. A shuffle in G groups is undone
 * by one in C / G groups. */
static struct channel_move move_back(const struct channel_moves *moves, size_t channel)
{
    if (moves->fused_move->op == &op_channel_shuffle) {
        const size_t groups = moves->channels / moves->fused_move->attributes.shuffle.groups;
        return (struct channel_move){.channel = channel % groups * (moves->channels / groups) +
                                                channel / groups};
    }
    struct channel_move move = channel_move_of(moves, channel);
    move.dy = -move.dy;
    move.dx = -move.dx;
    return move;
}

static bool same_source(const struct lane_set *set, const struct channel_move *move)
{
    return set->plane == move->channel / LANES && set->dy == move->dy && set->dx == move->dx;
}

static void group_lanes(const struct moving *moving, const struct channel_moves *moves,
                        size_t plane, bool backward)
{
    struct lane_set *sets = moving->sets + plane * LANES;
    size_t count = 0;
    for (size_t lane = 0; lane < LANES && plane * LANES + lane < moves->channels; lane++) {
        const size_t channel = plane * LANES + lane;
        const struct channel_move move =
            backward ? move_back(moves, channel) : channel_move_of(moves, channel);
        size_t i = 0;
        while (i < count && !same_source(&sets[i], &move))
            i++;
        if (i == count)
            sets[count++] =
                (struct lane_set){.plane = move.channel / LANES, .dy = move.dy, .dx = move.dx};
        sets[i].places[lane] = (int)(move.channel % LANES);
        sets[i].used[lane] = -1;
    }
    moving->counts[plane] = count;
}

/* Stores the lanes of one set in a row of zeros and of other sets' lanes, or adds them to the
 * row. */
static void move_row(const struct moving *moving, const struct lane_set *set, const element *from,
                     element *to)
{
    const size_t width = moving->to.shape.width;
    const size_t begin = set->dx > 0 ? min_size((size_t)set->dx, width) : 0;
    const size_t end = set->dx < 0 ? width - min_size((size_t)-set->dx, width) : width;
    for (size_t x = begin; x < end; x++) {
        const vector value = element_load(from + (x - (size_t)set->dx) * LANES);
        const vector_indices lanes = set->used & (vector_indices)vector_pick(value, set->places);
        element *at = to + x * LANES;
        element_store(at, moving->accumulate ? element_load(at) + (vector)lanes
                                             : (vector)((vector_indices)element_load(at) | lanes));
    }
}

static void move_row_block(const struct moving *moving, const struct row_block *block)
{
    const struct lane_set *sets = moving->sets + block->plane * LANES;
    for (size_t y = block->begin; y < block->end; y++) {
        element *to = blocked_at(&moving->to, block->image, block->plane, y);
        if (!moving->accumulate)
            blocked_clear(to, moving->to.shape.width * LANES);
        for (size_t i = 0; i < moving->counts[block->plane]; i++) {
            const size_t row = y - (size_t)sets[i].dy;
            if (row < moving->from.shape.height)
                move_row(moving, &sets[i],
                         blocked_at(&moving->from, block->image, sets[i].plane, row), to);
        }
    }
    blocked_pad(&moving->to, block->image, block->plane, block->begin, block->end);
}

static void move_task(void *context, size_t task, size_t thread)
{
    (void)thread;
    const struct moving *moving = context;
    struct row_block block = blocked_first(&moving->tasks, task);
    while (blocked_next(&moving->tasks, &block))
        move_row_block(moving, &block);
}

static void run_move(const struct kernel_call *call, struct moving *moving, bool backward)
{
    const struct channel_moves moves = {.fused_move = call->site->node,
                                        .channels = call->site->inputs[0].channels};
    for (size_t plane = 0; plane < blocked_planes(&moving->to); plane++)
        group_lanes(moving, &moves, plane, backward);
    moving->tasks = blocked_tasks_of(call, &moving->to, 8 * moving->to.shape.width);
    run_tasks(call, moving->tasks.count, move_task, moving);
}

static void forward_move(const struct kernel_call *call)
{
    struct carve carve = {.base = call->workspace};
    struct moving moving = moving_of(call->site, &carve);
    moving.from = blocked_input(call, 0);
    moving.to = blocked_output(call);
    run_move(call, &moving, false);
}

static void backward_move(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    struct carve carve = {.base = call->workspace};
    struct moving moving = moving_of(site, &carve);
    if (!call->input_gradients[0])
        return;
    moving.from = blocked_make(call->output_gradient, site->node->output, site->output_layout);
    moving.to = blocked_make(call->input_gradients[0], site->inputs[0], site->layouts[0]);
    moving.accumulate = call->accumulate[0];
    run_move(call, &moving, true);
}

/* --- flatten --- */

static void forward_flatten(const struct kernel_call *call)
{
    KERNEL(copy_to_plain)
    (call->pool, call->site->layouts[0], call->site->inputs[0], call->site->batch, call->inputs[0],
     call->output);
}

static void backward_flatten(const struct kernel_call *call)
{
    const struct kernel_site *site = call->site;
    if (call->input_gradients[0])
        KERNEL(copy_from_plain)
    (call->pool, site->layouts[0], site->inputs[0], site->batch, call->output_gradient,
     call->input_gradients[0], call->accumulate[0]);
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
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = supports_concat,
    .forward = forward_concat,
};

const struct kernel KERNEL(channel_shuffle_blocked) = {
    .name = "channel_shuffle blocked",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shuffle,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = KERNEL(blocked_supports),
    .workspace_bytes = workspace_move,
    .forward = forward_move,
    .backward = backward_move,
};

const struct kernel KERNEL(channel_shift_blocked) = {
    .name = "channel_shift blocked",
    .instruction_set = ISA_NAME,
    .op = &op_channel_shift,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = KERNEL(blocked_supports),
    .workspace_bytes = workspace_move,
    .forward = forward_move,
    .backward = backward_move,
};

const struct kernel KERNEL(flatten_blocked) = {
    .name = "flatten blocked",
    .instruction_set = ISA_NAME,
    .op = &op_flatten,
    .traits = KERNEL_BLOCKED | ELEMENT_TRAITS,
    .supports = supports_flatten,
    .forward = forward_flatten,
    .backward = backward_flatten,
};
