/* stopped_run.h: a run that was stopped after its first epoch, to be resumed by a test. */
#ifndef TINCA_TESTS_STOPPED_RUN_H
#define TINCA_TESTS_STOPPED_RUN_H

#include "training/run_start.h"

#include "session_files.h"

static char directory[512]; /* status of the last run */

static char *run_path(const char *name)
{
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

/* Waits for the end of a run, which may be NULL, and frees it. Returns its status; *error is the
 * run's error. */
static enum run_status finish(struct run *run, struct error *error)
{
    struct run_snapshot snapshot = {.status = RUN_REFUSED, .error = *error};
    if (run) {
        run_wait(run, -1);
        run_snapshot(run, &snapshot);
    }
    *error = snapshot.error;
    run_free(run);
    return snapshot.status;
}

/* Starts a run and stops it at the end of its first epoch. */
static bool begin_and_stop(const struct run_config *config)
{
    struct error error = {0};
    struct run *run = run_start(config, NULL, &error);
    if (run) {
        snprintf(directory, sizeof directory, "%s", run_facts(run)->directory);
        run_send(run, COMMAND_STOP_AT_EPOCH, 0);
    }
    const bool stopped = finish(run, &error) == RUN_STOPPED;
    if (!stopped)
        note_error(&error);
    return stopped;
}

#endif
