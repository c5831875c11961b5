/* run_trash.h: deleted runs that can still be restored: $XDG_STATE_HOME/tinca/trash/TIME/ID, beside
 * the folder of runs. Each deletion is a folder named after its time (UTC), which undo restores as
 * a whole, also in a later session. A deletion that is older than RUN_TRASH_DAYS is removed for
 * good when runs are deleted the next time. */
#ifndef TINCA_RUNS_HISTORY_RUN_TRASH_H
#define TINCA_RUNS_HISTORY_RUN_TRASH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- deleting for good --- */

/* Deletes a stored run: the files in its directory that tinca wrote, and no others.
 *
 * A run that any process trains is never touched; its lock file shows that. If the directory
 * contains anything else (a file with another name, a folder, a link), nothing is deleted. */

struct run_removal {
    size_t files;
    uint64_t bytes; /* sum of the files' sizes */
};

/* Adds to `removal` what a deletion would remove. Changes nothing. Returns false with an error if
 * the run must not be deleted. */
bool run_remove_check(const char *directory, struct run_removal *removal, struct error *error);

/* Checks again and deletes, while it holds the run's lock. Returns false with an error. */
bool run_remove(const char *directory, struct error *error);

/* --- the trash --- */

enum { RUN_TRASH_DAYS = 30 };

/* Returns whether the trash takes the run: it lies in the folder of all runs. Others, made with
 * --run-dir, can only be removed for good (run_remove). */
bool run_trash_takes(const char *directory);

/* Begins a deletion, and removes old ones for good. Returns the folder of the new one, owned by the
 * caller, or NULL with an error. */
char *run_trash_begin(struct error *error);

/* Moves a run into the folder of a deletion. Returns false with an error, and changes nothing, if
 * any process trains the run or its folder contains files that tinca did not write. */
bool run_trash_put(const char *deletion, const char *directory, struct error *error);

/* Removes the folder of a deletion if no run was put there. */
void run_trash_end(const char *deletion);

/* Restores the runs of the last deletion; *restored is their number. Returns false with an error if
 * the trash is empty, or if a run cannot be moved back; those before it are restored. */
bool run_trash_undo(size_t *restored, struct error *error);

/* Returns the number of runs in the trash, 0 if it cannot be read. */
size_t run_trash_count(void);

/* Counts the runs in the trash; adds their files and bytes to `removal`. Returns false with an
 * error if the trash cannot be read. */
bool run_trash_measure(size_t *runs, struct run_removal *removal, struct error *error);

/* Removes all runs of the trash for good; *removed is their number. Returns false with an error. */
bool run_trash_empty(size_t *removed, struct error *error);

#endif
