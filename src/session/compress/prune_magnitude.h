/* prune_magnitude.h: unstructured pruning of a saved model (engine/compress/magnitude.h), and what
 * it really saves: bytes of a compressed file, but no time, since a kernel multiplies by zero as
 * fast as by any number. */
#ifndef TINCA_SESSION_COMPRESS_PRUNE_MAGNITUDE_H
#define TINCA_SESSION_COMPRESS_PRUNE_MAGNITUDE_H

#include "session/compress/prune.h"
#include "session/values/statistics.h"

struct magnitude_request {
    const char *model, *output;
    double share; /* of the weights that become zero, in (0, 1) */
    const char *device;
    size_t threads;
    const char *validate; /* the set on which both are evaluated; "": none */
};

struct magnitude_result {
    char network[NETWORK_SHORT_NAME + 64];
    uint64_t weights, zeros; /* of convolutions and linear layers */
    uint64_t bytes[2],
        compressed[2];       /* of the file before and after, plain and by zlib (level 6) */
    struct statistics ms[2]; /* of one image, measured in turn */
    bool evaluated;
    struct evaluation accuracy[2];
};

/* Writes the output and measures both models. Returns false with an error; if the output could not
 * be written, it is as it was. */
bool magnitude_run(const struct magnitude_request *request, const struct prune_hooks *hooks,
                   struct magnitude_result *result, struct error *error);

#endif
