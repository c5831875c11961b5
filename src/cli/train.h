/* train.h: trains and shows a run as lines, without the workbench; shared by train, resume, attach
 * and ui. Functions that return int return the exit status and have printed their error. */
#ifndef TINCA_CLI_TRAIN_H
#define TINCA_CLI_TRAIN_H

#include "runs/settings/config.h"
#include "training/run_start.h"

#include <stdbool.h>

struct train {
    struct run_config config;
    struct run_options options;
    const char *export_path; /* --export: the session file, written at the end; NULL: none */
    char tags[512];          /* --tag, separated by spaces */
    const char *fork;        /* --fork: RUN[@CHECKPOINT]; NULL: none */
    const char *solver_file; /* --solver-file: a solver file of Caffe; NULL: none */
    bool quiet;
    bool json; /* --json: events on standard output, instead of the summary */
    bool wait; /* --wait: starts when no other run of this machine is alive */
};

/* Continues the run in `directory` and shows it until it is over. */
int train_resumed(const char *directory, const struct train *train);

/* Prints, unless `quiet`, that a file which an earlier command has named will be written; NULL:
 * none. */
void train_announce_file(const char *path, bool quiet);

/* Checks the request, trains, shows progress until the run is over, and writes the files that were
 * asked for. Catches SIGINT, SIGTERM and SIGHUP. */
int train_go(const struct train *train);

/* Fails if a file of --save or --export cannot be written. */
bool train_check_targets(const struct train *train, struct error *error);

/* Starts a run, shows it until it is over, and writes its files. Sets *status to the exit status.
 * Returns whether the run began. Call stop_signal_catch before. */
bool train_one(const struct train *train, int *status);

/* Prints the result of a finished run and writes its session file. With `interrupted` set, a
 * stopped run gives EXIT_INTERRUPTED. */
int train_finish(const struct train *train, struct run *run, bool interrupted);

/* Returns whether the run's folder is still where it was: only then can the run be resumed there.
 */
bool train_is_kept(const struct run *run);

/* Writes the operand that selects the run on a command line, quoted for the shell: its ID, or its
 * folder if --run-dir put it outside the folder of runs; "RUN" if that is too long. Returns `out`.
 */
char *train_operand(const struct run *run, char *out, size_t size);

#endif
