/* run_remove.h: deleting a kept run: exactly the files of its directory that tinca wrote.
 *
 * A run that is on is never touched, in whatever process: its lock tells. A directory that holds
 * anything else (a file of another name, a folder, a link) is left as it is, whole. */
#ifndef TINCA_SESSION_HISTORY_RUN_REMOVE_H
#define TINCA_SESSION_HISTORY_RUN_REMOVE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct run_removal {
    size_t files;
    uint64_t bytes; /* that the files take up in the directory's listing */
};

/* What deleting would remove, added to `removal`. False, with an error that says why, when the run
 * must not be deleted. Nothing is changed. */
bool run_remove_check(const char *directory, struct run_removal *removal, struct error *error);

/* Checks again and deletes, holding the run's lock. */
bool run_remove(const char *directory, struct error *error);

#endif
