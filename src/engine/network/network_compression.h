/* network_compression.h: the chain of techniques that were applied to a trained network, which its
 * file names under "compression" (struct network), and networks that such a technique makes.
 */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_COMPRESSION_H
#define TINCA_ENGINE_NETWORK_NETWORK_COMPRESSION_H

#include "base/json/json.h"
#include "engine/network/network.h"

/* Returns whether a chain has 1 or more steps, each KIND or KIND:ARGUMENT of letters, digits, "-",
 * "_" and ".", joined by "+", and is short enough for struct network. */
bool compression_is_valid(const char *chain);

/* Removes the last step of the chain of a network file's tree, so that another one can be appended.
 * Returns false if memory runs out. */
bool compression_remove_last(struct json *root);

/* Appends a step, "prune:0.5", to the chain of a network file's tree (network_write.h). Returns
 * false with an error if the step is not valid, the chain becomes too long or memory runs out. */
bool compression_append(struct json *root, const char *step, struct error *error);

/* Does the same for a network that is built already, and for the text of its file, with which it
 * is saved. */
bool network_append_compression(struct network *network, const char *step, struct error *error);

#endif
