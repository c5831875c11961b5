/* network_difference.h: compares two networks layer by layer. Internal to session/. */
#ifndef TINCA_SESSION_RECORD_NETWORK_DIFFERENCE_H
#define TINCA_SESSION_RECORD_NETWORK_DIFFERENCE_H

#include "base/json/json.h"
#include "session/record/differences.h"

/* Adds to *differences how the network `now` differs from `then`, both as network_to_json writes
 * them: "layer conv2: kernel was 5, is 3". Name, title and the name of the normalisation are
 * not compared. */
void network_difference(const struct json *then, const struct json *now,
                        struct differences *differences);

#endif
