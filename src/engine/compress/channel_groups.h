/* channel_groups.h: which channels of a network must be removed together.
 *
 * Every channel of every node has a number. Two channels are in one group if one cannot be removed
 * without the other: the terms of a sum, a value and its gate, a channel before and after an
 * operator that works on each channel alone. The groups are those of the dependency graph of Fang
 * et al. (2023), but found channel by channel, so that a concatenation couples each of its channels
 * with one input only, and exact for operators that move channels:
 *
 * - channel_shift gives a direction to each ninth of the channels. Channels with the same place in
 *   each ninth form a group; those of the rest, which do not move, are free.
 * - channel_shuffle transposes a table of channels, of which whole columns can be removed.
 * - a convolution in groups keeps the number of groups: channels with the same place in every group
 *   are removed together. Where a group has one input or one output (depthwise convolution), whole
 *   groups are removed instead.
 *
 * A group is held, and cannot be removed, where the network would no longer compute the same as
 * with its values at zero (channel_hold).
 */
#ifndef TINCA_ENGINE_COMPRESS_CHANNEL_GROUPS_H
#define TINCA_ENGINE_COMPRESS_CHANNEL_GROUPS_H

#include "base/error.h"
#include "engine/graph/graph.h"

#include <stdbool.h>
#include <stddef.h>

/* The reasons why the channels of a group must stay. */
enum channel_hold {
    CHANNEL_FREE,
    CHANNEL_INPUT,      /* they are the network's input */
    CHANNEL_OUTPUT,     /* a loss reads them: they are the network's answer */
    CHANNEL_NEIGHBOURS, /* an operator sums over neighbouring channels (lrn) */
    CHANNEL_SHARES,     /* an operator divides by a sum over all channels (softmax) */
    CHANNEL_NOISE,      /* noise in inference is drawn by the place of the value (dropout) */
    CHANNEL_ASKED,      /* the user excluded the layer from pruning */
    CHANNEL_UNKNOWN,    /* the operator, or a parameter of it, has no rule here */
};

struct channel_group {
    size_t begin, size; /* its channels are channels[begin..begin + size) */
    enum channel_hold hold;
    size_t holder; /* the node that holds it, unless it is free */
};

struct channel_groups {
    const struct graph *graph; /* borrowed */
    size_t *first;             /* [node_count + 1]: node n has channels first[n]..first[n + 1] */
    size_t *node_of;           /* by channel */
    size_t *group_of;          /* by channel */
    size_t channel_count;
    struct channel_group *groups; /* in the order of their first channels */
    size_t count;
    size_t *channels; /* channel numbers by group, ascending */
};

/* Finds the groups of a graph. `keep`, by node, names layers whose outputs must stay; NULL: none.
 * channel_groups_free releases them. Returns false with an error if out of memory. */
bool channel_groups_find(struct channel_groups *groups, const struct graph *graph, const bool *keep,
                         struct error *error);
void channel_groups_free(struct channel_groups *groups); /* leaves it {0} */

/* Returns whether pruning has a rule for an operator. An operator without one holds the channels
 * around it. */
bool channel_groups_know(const struct op *op);

/* Returns a sentence's end such as "a loss reads its channels", in English (N_). */
const char *channel_hold_text(enum channel_hold hold);

/* Returns whether a convolution is divided by whole groups: each has one input or one output. */
bool channel_groups_are_whole(const struct conv_attributes *conv, size_t inputs);

#endif
