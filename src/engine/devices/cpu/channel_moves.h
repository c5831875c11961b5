/* channel_moves.h: channel_shift and channel_shuffle as addresses. Only the kernels of this folder
 * use it.
 *
 * Each output channel of these operators is one input channel, moved by at most one pixel. A kernel
 * that copies planes anyway can read them at the moved address, and write their gradients back to
 * it (a fused gather): the moved tensor is never stored.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_CHANNEL_MOVES_H
#define TINCA_ENGINE_DEVICES_CPU_CHANNEL_MOVES_H

#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <stddef.h>

/* The channel move that is fused into a kernel: a channel_shift or channel_shuffle node, or NULL
 * for none. */
struct channel_moves {
    const struct node *fused_move;
    size_t channels; /* channels of an image, over all groups */
};

/* Value (y, x) of the moved channel is value (y - dy, x - dx) of channel `channel`, or 0 if that
 * lies outside the image. */
struct channel_move {
    size_t channel;
    ptrdiff_t dy, dx; /* -1, 0 or 1 */
};

/* Returns where `channel` of the moved image comes from. */
static inline struct channel_move channel_move_of(const struct channel_moves *moves, size_t channel)
{
    struct channel_move move = {.channel = channel};
    if (!moves->fused_move)
        return move;
    if (moves->fused_move->op == &op_channel_shuffle) {
        const size_t groups = moves->fused_move->attributes.shuffle.groups;
        move.channel = channel % groups * (moves->channels / groups) + channel / groups;
        return move;
    }
    const size_t group_channels = moves->channels / 9; /* channel_shift, see its operator */
    if (channel < 9 * group_channels) {
        move.dy = (ptrdiff_t)(channel / group_channels / 3) - 1;
        move.dx = (ptrdiff_t)(channel / group_channels % 3) - 1;
    }
    return move;
}

/* Returns where the gradient of moved row or column `at` goes back to. A row that came from outside
 * the image has *outside set; the returned row is then the one at the other end, which moved out of
 * the image and has the gradient 0. Over all `at`, each row is returned exactly once. */
static inline size_t channel_move_back(size_t at, ptrdiff_t offset, size_t size, bool *outside)
{
    const size_t to = at - (size_t)offset; /* -1 wraps to the largest size_t */
    *outside = to >= size;
    return !*outside ? to : offset > 0 ? size - 1 : 0;
}

#endif
