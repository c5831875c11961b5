/* run_name.h: a name that the user gave to a run, kept as one line of the file name.txt in the
 * run's directory. It stands beside the ID, and commands take it for the run. */
#ifndef TINCA_SESSION_FILES_RUN_NAME_H
#define TINCA_SESSION_FILES_RUN_NAME_H

#include "base/error.h"

#include <stdbool.h>

enum { RUN_NAME_SIZE = 64 }; /* bytes, the NUL counted */

/* The name of the run in `directory`, "" when it has none (or what lies there is no name). Returns
 * `name`, which holds RUN_NAME_SIZE bytes. */
char *run_name_read(const char *directory, char *name);

/* Gives it a name, or takes it away (""). Spaces around it are left out. False when this cannot be
 * a name: too long, not UTF-8, with control characters or a slash, beginning with '-'. */
bool run_name_write(const char *directory, const char *name, struct error *error);

#endif
