/* network_write.h: writes a network as a network file that needs no options to build the same
 * graph.
 */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_WRITE_H
#define TINCA_ENGINE_NETWORK_NETWORK_WRITE_H

#include "base/json/json.h"
#include "engine/network/network.h"

/* Returns the network as the tree of a network file (tinca-network(5)), which the caller frees.
 * Blocks, repetitions, technique, rates, widths, activation and classes are applied: the file lists
 * one operator for each node, with all of its attributes, and network_build builds the same graph
 * from it. Output layers (class_outputs.h) say "output": "classes". Returns NULL if memory runs
 * out. */
struct json *network_to_json(const struct network *network);

/* Makes a layer of a network file have as many outputs as there are classes. Returns false if
 * memory runs out. */
bool network_open_outputs(struct json *layer);

#endif
