/* runs_check.h: verifies the files of runs, for tinca runs --check. */
#ifndef TINCA_CLI_RUNS_CHECK_H
#define TINCA_CLI_RUNS_CHECK_H

#include <stdbool.h>

/* Checks the run that is named by its ID, the beginning of its ID, its name or its folder, or all
 * runs if `run` is NULL. Prints each problem, or one JSON document. Returns the exit status: 1 if
 * something is damaged. */
int runs_check(const char *run, bool as_json);

#endif
