/* runs.h: a kept run, by what people call it. */
#ifndef TINCA_CLI_RUNS_H
#define TINCA_CLI_RUNS_H

#include "base/error.h"
#include "session/record/run.h"

/* By its ID, the beginning of it, its name, or its folder. NULL with an error when it cannot be
 * found or read; to be freed with run_free. */
struct run *runs_open(const char *id, struct error *error);

#endif
