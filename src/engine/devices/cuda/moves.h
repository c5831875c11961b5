/* moves.h: channel_shift and channel_shuffle as addresses. Only the kernels of this folder use it.
 *
 * Each output channel of these operators is one input channel, moved by at most one pixel. A kernel
 * that reads planes of an image can read them at the moved address (a fused gather), and write
 * their gradients back to it.
 */
#ifndef TINCA_ENGINE_DEVICES_CUDA_MOVES_H
#define TINCA_ENGINE_DEVICES_CUDA_MOVES_H

#include "engine/devices/cuda/divide.h"
#include "engine/graph/graph.h"
#include "engine/ops/op.h"

#include <string.h>

struct moves {
    bool shuffles, shifts;    /* if both are false, nothing moves */
    struct divisor groups;    /* shuffle: its groups; shift: channels with the same move */
    uint32_t channels;        /* channels of an image */
    uint32_t groups_channels; /* shuffle: channels of one group; shift: channels that move */
};

/* Value (y, x) of the moved channel is value (y - dy, x - dx) of channel `channel`, or 0 if that
 * lies outside the image. */
struct move {
    uint32_t channel;
    int dy, dx; /* -1, 0 or 1 */
};

/* Returns the moves of a node on an image with `channels` channels. Nothing moves if `node` is
 * NULL. */
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

/* Returns where the gradient of moved row or column `at` goes back to. A row that came from outside
 * the image has *outside set; the returned row is then the one at the other end, which moved out of
 * the image and has the gradient 0. Over all `at`, each row is returned exactly once. */
static __host__ __device__ __forceinline__ uint32_t move_back(uint32_t at, int offset,
                                                              uint32_t size, bool *outside)
{
    const int to = (int)at - offset;
    *outside = to < 0 || to >= (int)size;
    return !*outside ? (uint32_t)to : offset > 0 ? size - 1 : 0;
}

#endif
