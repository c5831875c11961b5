/* run_owner.h: finds the process that trains a run, from other processes.
 *
 * The lock file of the run names the process. But the system reuses process IDs, and machines may
 * share a folder. So a signal is sent only to a process of this machine that has the lock file
 * open.
 */
#ifndef TINCA_RUNS_HISTORY_RUN_OWNER_H
#define TINCA_RUNS_HISTORY_RUN_OWNER_H

#include "base/error.h"

#include <stdbool.h>

struct run_owner {
    long process;   /* process ID; 0: unknown */
    char host[128]; /* name of its machine; "": unknown */
    bool here;      /* it runs on this machine and belongs to this user */
    bool alone;     /* as `here`, and it has no terminal on which one could watch or stop it */
};

/* Fills *owner and returns whether a process has the run. If none has, *owner is what the lock file
 * says of the last one. */
bool run_owner_find(const char *directory, struct run_owner *owner);

/* Returns whether process `number` of this machine has the file open; false for other users'
 * processes, whose files are not visible. */
bool run_owner_has_open(long number, const char *path);

/* Asks the process to finish its iteration, save, and end (SIGTERM). Returns false with an error.
 */
bool run_owner_stop(const char *directory, struct error *error);

#endif
