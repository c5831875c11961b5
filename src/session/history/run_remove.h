/* run_remove.h: deletes a stored run: the files in its directory that tinca wrote, and no others.
 *
 * A run that any process trains is never touched; its lock file shows that. If the directory
 * contains anything else (a file with another name, a folder, a link), nothing is deleted. */
#ifndef TINCA_SESSION_HISTORY_RUN_REMOVE_H
#define TINCA_SESSION_HISTORY_RUN_REMOVE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct run_removal {
    size_t files;
    uint64_t bytes; /* sum of the files' sizes */
};

/* Adds to `removal` what a deletion would remove. Changes nothing. Returns false with an error if
 * the run must not be deleted. */
bool run_remove_check(const char *directory, struct run_removal *removal, struct error *error);

/* Does the same without looking whether a process trains the run. `removal` is a struct
 * run_removal; the type suits functions that visit folders. */
bool run_removal_add(const char *directory, void *removal, struct error *error);

/* Checks again and deletes, while it holds the run's lock. Returns false with an error. */
bool run_remove(const char *directory, struct error *error);

#endif
