/* run_hold.h: locks the folder of a run for the process that trains there. Internal to session/.
 *
 * The lock file shows other processes that the run is alive. But it could be removed, and a second
 * process could lock a new one. So the folder is locked, too (flock); where a folder cannot be
 * locked (NFS), only the lock file counts. A few times a second the run checks that its folder and
 * its lock file are still the ones at their path. */
#ifndef TINCA_SESSION_FILES_RUN_HOLD_H
#define TINCA_SESSION_FILES_RUN_HOLD_H

#include "base/error.h"

#include <stdbool.h>

struct run_hold {
    int lock;      /* run_directory_lock's descriptor; -1: none */
    int directory; /* the folder's; -1: none */
};

/* Locks lock file and folder. Returns false with an error, and locks nothing, if another process
 * has one of them or they cannot be opened. */
bool run_hold_take(struct run_hold *hold, const char *directory, struct error *error);

/* Returns whether folder and lock file at `directory` are still the locked ones; if not, the error
 * says which was removed. */
bool run_hold_check(const struct run_hold *hold, const char *directory, struct error *error);

/* Releases the locks. A second call does nothing. */
void run_hold_release(struct run_hold *hold);

#endif
