/* version.h: prints which program this is, and what it was built with. */
#ifndef TINCA_CLI_VERSION_H
#define TINCA_CLI_VERSION_H

#include <stdbool.h>

/* Prints "tinca X.Y.Z", the licence, and a line for each part of the build: commit, compiler,
 * libraries, instruction sets, modules; the modules that are left out with the reason. `as_json`:
 * the same as one JSON document. Opens no device and no module. Returns the exit status. */
int version_print(bool as_json);

#endif
