/* train.h: a run that is shown as lines, without the workbench. */
#ifndef TINCA_CLI_TRAIN_H
#define TINCA_CLI_TRAIN_H

#include "session/config/config.h"
#include "session/run/run_start.h"

#include <stdbool.h>

struct train {
    struct run_config config;
    struct run_options options;
    const char *export_path; /* where the session goes at the end; NULL: nowhere */
    bool quiet;
};

/* Checks the request, runs it to its end and writes what was asked for. SIGINT and SIGTERM are
 * caught. Returns the exit status. */
int train_go(const struct train *train);

/* The parts of it that a resumed run shares: whether what is to be written can be; and a run that
 * is on, shown to its end and freed. */
bool train_check_targets(const struct train *train, struct error *error);
int train_follow(const struct train *train, struct run *run);

/* What is said and written of a run that is over, and the exit status; `interrupted`: that it was
 * stopped is not what was wanted here. */
int train_finish(const struct train *train, struct run *run, bool interrupted);

/* Writes a run as the operand of a command that the user copies: its ID, or the folder that
 * --run-dir named, which no ID finds. "RUN" when that does not fit. Returns `out`. */
char *train_operand(const struct run *run, char *out, size_t size);

#endif
