/* network_model.h: the network of a saved model, from the metadata of its file
 * (session/model/model_file.h lists the keys).
 */
#ifndef TINCA_ENGINE_NETWORK_NETWORK_MODEL_H
#define TINCA_ENGINE_NETWORK_NETWORK_MODEL_H

#include "engine/network/network.h"
#include "engine/weights/safetensors.h"

/* Builds the network of an open file as it was saved. Returns NULL with an error if the metadata is
 * missing or wrong. */
struct network *network_of_model(const struct safetensors *file, struct error *error);

/* Builds the network of the file request->network, with the request's classes and size of the
 * input. Returns NULL with an error, too if the request has a technique, a rate, widths or an
 * activation that the model's network does not have. */
struct network *network_build_saved(const struct network_request *request, struct error *error);

/* Sets the error for a metadata key, with the reason `why` (marked N_), and returns false. */
bool network_refuse_metadata(const struct safetensors *file, const char *key, const char *why,
                             struct error *error);

#endif
