/* moves.h: channel_shift and channel_shuffle as an address. Not for use outside this room.
 *
 * Both only say where a channel comes from and by how much it is moved, so that a kernel that reads
 * planes of an image can read them from there, and bring their gradients back there.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_MOVES_H
#define TINCA_ENGINE_DEVICES_CUDA_MOVES_H

#include "engine/devices/cuda/divide.h"
#include "engine/graph/graph.h"
#include "engine/ops/op.h"

#include <string.h>

struct moves {
    bool shuffles, shifts;    /* neither: nothing moves */
    struct divisor groups;    /* shuffle: its groups; shift: channels that move alike */
    uint32_t channels;        /* of an image */
    uint32_t groups_channels; /* shuffle: of one group; shift: those that move at all */
};

/* Moved value (y, x) is value (y - dy, x - dx) of channel `channel`, or 0 where that is outside. */
struct move {
    uint32_t channel;
    int dy, dx; /* -1, 0 or 1 */
};

/* What the node does to an image of so many channels; NULL: nothing. */
static inline struct moves moves_of(const struct node *node, size_t channels)
{
    struct moves moves = {false, false, {1, 1, 0}, (uint32_t)channels, 0};
    if (!node)
        return moves;
    if (strcmp(node->op->name, "channel_shuffle") == 0) {
        const size_t groups = node->attributes.shuffle.groups;
        moves.shuffles = true;
        moves.groups = divisor_of(groups);
        moves.groups_channels = (uint32_t)(channels / groups);
    } else if (channels >= 9) {
        moves.shifts = true;
        moves.groups = divisor_of(channels / 9);
        moves.groups_channels = (uint32_t)(channels / 9 * 9);
    }
    return moves;
}

static __host__ __device__ __forceinline__ struct move move_of(const struct moves *moves,
                                                               uint32_t channel)
{
    struct move move = {channel, 0, 0};
    if (moves->shuffles) {
        uint32_t group;
        const uint32_t index = divide_rest(channel, moves->groups, &group);
        move.channel = group * moves->groups_channels + index;
    } else if (moves->shifts && channel < moves->groups_channels) {
        const uint32_t direction = divide(channel, moves->groups);
        move.dy = (int)(direction / 3) - 1;
        move.dx = (int)(direction % 3) - 1;
    }
    return move;
}

/* Where moved row or column `at` goes back to. One that came from outside is worth nothing; the
 * value at the other end went nowhere, and is what it is paired with: each place is reached once.
 */
static __host__ __device__ __forceinline__ uint32_t move_back(uint32_t at, int offset,
                                                              uint32_t size, bool *outside)
{
    const int to = (int)at - offset;
    *outside = to < 0 || to >= (int)size;
    return !*outside ? (uint32_t)to : offset > 0 ? size - 1 : 0;
}

#endif
