/* computed_with.h: the software and the instruction set or GPU with which a run was computed.
 * Internal to session/.
 *
 * A checkpoint's metadata and the journal's events "start" and "resume" record the version of tinca
 * ("version"), that of its arithmetic ("numerics"), the instruction set or GPU ("kernels") and, on
 * the device cpu, the BLAS library ("blas"). */
#ifndef TINCA_SESSION_FILES_COMPUTED_WITH_H
#define TINCA_SESSION_FILES_COMPUTED_WITH_H

#include "base/json/json.h"
#include "engine/devices/device.h"

enum {
    COMPUTED_PROGRAM,
    COMPUTED_NUMERICS,
    COMPUTED_KERNELS,
    COMPUTED_BLAS,
    COMPUTED_WITH,
    COMPUTED_WITH_SIZE = 80
};

/* Keys and values; an empty value does not apply to the device. */
struct computed_with {
    const char *keys[COMPUTED_WITH];
    char values[COMPUTED_WITH][COMPUTED_WITH_SIZE];
};

/* Returns what a message calls a value, untranslated. */
const char *computed_with_word(size_t value);

/* Fills *here with the values of this process. */
void computed_with_here(struct computed_with *here, const char *device,
                        enum device_precision precision);

/* Adds the values of this process to an event of the journal. Returns false if out of
 * memory. */
bool computed_with_add(struct json *event, const char *device, enum device_precision precision);

#endif
