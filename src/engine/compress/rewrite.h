/* rewrite.h: a network with some of its layers replaced by others.
 *
 * A graph is not changed in place. It is written as the tree of a network file (network_write.h),
 * in which each layer is one operator; a new tree is made of it layer by layer, and the new network
 * is built from that. Weights go from one network to the other by name.
 */
#ifndef TINCA_ENGINE_COMPRESS_REWRITE_H
#define TINCA_ENGINE_COMPRESS_REWRITE_H

#include "base/json/json.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

#include <stdbool.h>
#include <stddef.h>

/* The layers that replace one of the network's. */
struct rewritten_layer {
    struct json *layers; /* append the new layers here, in order */
    /* The layer's inputs, for the first of the new layers: "from", with the new names. Its owner is
     * the tree that is being made; copy it. */
    const struct json *from;
    char output[NODE_NAME_SIZE]; /* set it to the new layer that others read instead of this one */
};

enum rewrite { REWRITE_KEEP, REWRITE_REPLACE, REWRITE_FAIL };

/* Decides about node number `node` of the network's graph. For REWRITE_REPLACE it has filled
 * `layer`, for REWRITE_FAIL it has set the error, otherwise the layer stays as it is. */
typedef enum rewrite rewrite_layer(void *context, size_t node, struct rewritten_layer *layer,
                                   struct error *error);

/* Returns the network as a tree in which `rewrite` has replaced layers; the caller frees it. A
 * discriminator stays as it is. Returns NULL with an error. */
struct json *rewrite_network(const struct network *network, rewrite_layer *rewrite, void *context,
                             struct error *error);

#endif
