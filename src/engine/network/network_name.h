/* network_name.h: how a network is named: by a path, or by a name with suffixes. Only the files of
 * this folder use it. */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_NAME_H
#define TINCA_ENGINE_NETWORK_NETWORK_NAME_H

#include "engine/network/network.h"

/* Completes the request by the suffixes of its name. Sets *builtin to the named network, or to NULL
 * if the request has a path or a text. Returns false with an error if there is no such network, if
 * a suffix contradicts the request, or if a value is out of range. */
bool network_name_complete(struct network_request *request, const struct network_builtin **builtin,
                           struct error *error);

/* Returns the entry of network_activations with this name, or NULL if there is none. */
const char *activation_find(const char *name);

enum { ACTIVATION_LIST_SIZE = 128 };

/* Writes the names of network_activations with commas between them. Returns `text`. */
char *activation_list(char *text, size_t size);

#endif
