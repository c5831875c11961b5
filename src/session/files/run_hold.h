/* run_hold.h: a run's folder in the hands of the process that trains there. Internal to session/.
 *
 * The lock file tells others that a run is on, but it can be removed, and a new one locked by a
 * second process. So the folder itself is locked too (flock), for as long as the run is on; where a
 * folder cannot be locked (NFS) the lock file alone counts. And the run looks a few times a second
 * whether its folder and its lock file are still the ones at their path. */
#ifndef TINCA_SESSION_FILES_RUN_HOLD_H
#define TINCA_SESSION_FILES_RUN_HOLD_H

#include "base/error.h"

#include <stdbool.h>

struct run_hold {
    int lock;      /* run_directory_lock's descriptor; -1: none */
    int directory; /* the folder's; -1: none */
};

/* Takes lock file and folder. Returns false, with nothing held, when another process has one of
 * them or they cannot be opened. */
bool run_hold_take(struct run_hold *hold, const char *directory, struct error *error);

/* Returns whether folder and lock file at `directory` are still those that are held; else the error
 * says which was removed. */
bool run_hold_check(const struct run_hold *hold, const char *directory, struct error *error);

/* Lets go. Does nothing the second time. */
void run_hold_release(struct run_hold *hold);

#endif
