/* computed_with.h: what a run is computed with. Internal to session/.
 *
 * A checkpoint's metadata and the journal's events "start" and "resume" record the version of tinca
 * ("version"), that of its arithmetic ("numerics"), the instruction set or GPU ("kernels") and, on
 * the device cpu, the BLAS library ("blas"). */
#ifndef TINCA_SESSION_FILES_COMPUTED_WITH_H
#define TINCA_SESSION_FILES_COMPUTED_WITH_H

#include "base/json/json.h"

enum {
    COMPUTED_PROGRAM,
    COMPUTED_NUMERICS,
    COMPUTED_KERNELS,
    COMPUTED_BLAS,
    COMPUTED_WITH,
    COMPUTED_WITH_SIZE = 80
};

/* The keys, and what this process computes with; an empty value: it does not apply. */
struct computed_with {
    const char *keys[COMPUTED_WITH];
    char values[COMPUTED_WITH][COMPUTED_WITH_SIZE];
};
void computed_with_here(struct computed_with *here, const char *device);

/* Adds them to an event of the journal. */
bool computed_with_add(struct json *event, const char *device);

#endif
