/* prune_network.h: removes groups of channels from a network and its weights.
 *
 * Masking sets every parameter that would be removed to zero: those that make a removed channel,
 * and those with which layers read it. The pruned network computes what the masked one computes, to
 * the last digit where sums run in the order of the channels, as on the reference device. A masked
 * channel need not be zero itself (a sigmoid of zero is a half), but nothing that remains reads it.
 */
#ifndef TINCA_ENGINE_COMPRESS_PRUNE_NETWORK_H
#define TINCA_ENGINE_COMPRESS_PRUNE_NETWORK_H

#include "engine/compress/prune_selection.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

/* Returns the network without the removed groups. Its chain of compression ends with `step`, such
 * as "prune:0.5", which replaces the last step if `replaces` is set; if `step` is NULL, the chain
 * stays as it is. network_free frees the network. The selection must be one of groups of
 * network->graph. Returns NULL with an error. */
struct network *prune_network(const struct network *network,
                              const struct prune_selection *selection, const char *step,
                              bool replaces, struct error *error);

/* Copies the remaining weights into those of the pruned network, which weights_create has
 * allocated. Returns false with an error if the networks do not fit. */
bool prune_copy_weights(const struct channel_groups *groups,
                        const struct prune_selection *selection, const struct weights *weights,
                        struct weights *pruned, struct error *error);

/* Sets the parameters that pruning would remove to zero, except running statistics. */
void prune_mask_weights(const struct channel_groups *groups,
                        const struct prune_selection *selection, struct weights *weights);

#endif
