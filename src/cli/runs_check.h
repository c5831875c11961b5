/* runs_check.h: tinca runs --check. */
#ifndef TINCA_CLI_RUNS_CHECK_H
#define TINCA_CLI_RUNS_CHECK_H

#include <stdbool.h>

/* Checks a run (its ID, the beginning of it, its name, or its folder), or with NULL all that lies
 * in the folder of runs, and prints what is wrong. Returns the exit status: 1 when something is. */
int runs_check(const char *run, bool as_json);

#endif
