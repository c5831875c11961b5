/* file_lock.h: a lock between processes, for a file that is read, changed and written as a whole: a
 * lock file beside it, because a lock on the file itself would be gone once it is replaced. */
#ifndef TINCA_BASE_FILES_FILE_LOCK_H
#define TINCA_BASE_FILES_FILE_LOCK_H

#include "base/error.h"

/* Creates the lock file, which stays, and waits until this process alone has it locked. close(2)
 * releases the lock. Returns a descriptor, or -1 with an error. Where files cannot be locked it
 * returns without a lock. A link is refused. */
int file_lock(const char *path, struct error *error);

#endif
