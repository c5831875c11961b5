/* prune_selection.h: which groups of channels to remove so that a network meets a target.
 *
 * Groups are removed in the order of their importance, the least important first, until the target
 * is met. Then groups come back, the most important first, as long as it stays met: the result is
 * as close to the target as whole groups allow. Each layer keeps a tenth of its channels, at least
 * one, so that no layer is lost.
 */
#ifndef TINCA_ENGINE_COMPRESS_PRUNE_SELECTION_H
#define TINCA_ENGINE_COMPRESS_PRUNE_SELECTION_H

#include "engine/compress/channel_groups.h"

#include <stdint.h>

#define PRUNE_LEAST_SHARE 0.1 /* of a layer's channels remains */

enum prune_measure { PRUNE_FLOPS, PRUNE_PARAMETERS };

/* The channels that a selection removes, and what remains. */
struct prune_selection {
    bool *removed;              /* by group */
    size_t *kept;               /* by node: channels that remain */
    uint64_t flops, parameters; /* cost of the pruned network */
};

/* Selects groups to remove by their importance [groups->count], NaN for those that stay, until the
 * cost is at most `limit`. prune_selection_free releases the selection. Returns false with an error
 * that names the least possible cost if the limit cannot be met, or if out of memory. */
bool prune_select(struct prune_selection *selection, const struct channel_groups *groups,
                  const double *importance, enum prune_measure measure, uint64_t limit,
                  struct error *error);

void prune_selection_free(struct prune_selection *selection); /* leaves it {0} */

/* Returns a node of the pruned network, where every node has kept[] channels, and writes the shapes
 * of its inputs into inputs[]. */
struct node prune_node(const struct graph *graph, const size_t *kept, size_t number,
                       struct shape *inputs);

#endif
