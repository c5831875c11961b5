/* network_write.h: a network as a network file that needs no options to build the same graph. */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_WRITE_H
#define TINCA_ENGINE_NETWORK_NETWORK_WRITE_H

#include "base/json/json.h"
#include "engine/network/network.h"

/* Returns the network as the tree of a network file (tinca-network(5)), owned by the caller.
 * Blocks, repetitions, technique, rates, widths, activation and classes are applied: the file lists
 * one operator for each node, with all of its attributes, and network_build makes the same graph of
 * it. NULL when memory is out. */
struct json *network_to_json(const struct network *network);

#endif
