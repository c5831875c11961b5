/* network_name.h: what a network is asked for by: a path, or a name with its suffixes. Not for use
 * outside this room. */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_NAME_H
#define TINCA_ENGINE_NETWORK_NETWORK_NAME_H

#include "engine/network/network.h"

/* Adds to the request what the suffixes of its name say, and the defaults; refuses contradictions
 * and rates out of range. *builtin is the named network, or NULL for a path or a given text. */
bool network_name_complete(struct network_request *request, const struct network_builtin **builtin,
                           struct error *error);

/* One of network_activations, or NULL. */
const char *activation_find(const char *name);

#endif
