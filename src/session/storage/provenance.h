/* provenance.h: how a run came about, stored in RUN/provenance.json when it begins: the command
 * line, and the versions of program, arithmetic, compiler, BLAS library, system kernel and
 * microcode. Internal to session/. Runs of earlier versions lack the file; resuming a run does not
 * change it.
 *
 * {"format": "tinca-provenance", "version": 1, "command": ["tinca", "train", ...],
 *  "software": {"tinca", "numerics", "compiler", "blas", "kernels", "kernel", "cpu", "microcode"}}
 * A text that is unknown or does not apply is missing. */
#ifndef TINCA_SESSION_STORAGE_PROVENANCE_H
#define TINCA_SESSION_STORAGE_PROVENANCE_H

#include "base/json/json.h"
#include "engine/devices/device.h"

/* Returns the text of the file, with its checksum, for a run of this process that computes on an
 * opened device. The caller frees it. Returns NULL with an error. */
char *provenance_make(const char *device, enum device_precision precision, struct error *error);

/* Adds "command" and "software" of the file's object `root` (NULL: there is no file) to an object.
 * Returns false if memory is short. */
bool provenance_add(struct json *object, const struct json *root);

#endif
