/* run_name.h: the name that the user gave to a run, stored in the file name.txt of the run's
 * folder. Commands accept it in place of the ID. */
#ifndef TINCA_SESSION_FILES_RUN_NAME_H
#define TINCA_SESSION_FILES_RUN_NAME_H

#include "base/error.h"

#include <stdbool.h>

enum { RUN_NAME_SIZE = 64 }; /* bytes, with the NUL */

/* Reads the name of the run in `directory`, "" if it has none or the file has no valid name.
 * Returns `name`, which has RUN_NAME_SIZE bytes. */
char *run_name_read(const char *directory, char *name);

/* Sets the name, or removes it (""). Spaces around it are stripped. Returns false with an error if
 * it is too long, not UTF-8, has control characters or a slash, or begins with '-'. */
bool run_name_write(const char *directory, const char *name, struct error *error);

#endif
