/* channel_moves.h: channel_shift and channel_shuffle as an address. Not for use outside this room.
 *
 * Both only say where a channel comes from and by how much it is moved. A kernel that copies a
 * plane anyway reads it from there, and writes its gradient back to there: the tensor between is
 * never made.
 */
#ifndef TINCA_ENGINE_DEVICES_CPU_CHANNEL_MOVES_H
#define TINCA_ENGINE_DEVICES_CPU_CHANNEL_MOVES_H

#include "engine/graph/kernel.h"
#include "engine/ops/op.h"

#include <stddef.h>

/* What lies between a kernel and its memory: a channel_shift, a channel_shuffle or, NULL, nothing.
 */
struct channel_moves {
    const struct node *fused_move;
    size_t channels; /* of an image, over all groups */
};

/* Moved value (y, x) is value (y - dy, x - dx) of channel `channel`, or 0 where that is outside. */
struct channel_move {
    size_t channel;
    ptrdiff_t dy, dx; /* -1, 0 or 1 */
};

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

/* Where moved row or column `at` goes back to. One that came from outside is worth nothing; the
 * value at the other end went nowhere, and is what it is paired with: each place is reached once.
 */
static inline size_t channel_move_back(size_t at, ptrdiff_t offset, size_t size, bool *outside)
{
    const size_t to = at - (size_t)offset; /* -1 wraps to the largest size_t */
    *outside = to >= size;
    return !*outside ? to : offset > 0 ? size - 1 : 0;
}

#endif
