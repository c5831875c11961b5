/* run_prune.h: the disk space of a stored run, and how to free some of it: weights and checkpoints
 * that are no longer needed are deleted; settings, curves and results stay.
 *
 * The user chooses which weights stay:
 *   best   the best model or, without validation, the final one; without either the last checkpoint
 *   last   the final model, and the last checkpoint, from which a stopped run can go on; without
 *          either what there is
 *   none   no weights
 * RUN/pruned.json lists the deleted files, so that a check of the run does not miss them. Nothing
 * of a run that a process trains is ever deleted. The caller must not prune runs that wait in the
 * queue. */
#ifndef TINCA_RUNS_FOLDER_RUN_PRUNE_H
#define TINCA_RUNS_FOLDER_RUN_PRUNE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- space --- */

/* The disk space that a stored run takes. Thread-safe. */

/* Returns the sum of the sizes of the files in a run's folder, 0 if it cannot be read. */
uint64_t run_disk_bytes(const char *directory);

enum run_keep { RUN_KEEP_BEST, RUN_KEEP_LAST, RUN_KEEP_NONE };

/* The names of enum run_keep, NULL-terminated. */
extern const char *const run_keep_names[];

/* The files that pruning would delete, or has deleted. */
struct run_pruning {
    size_t files;
    uint64_t bytes;
};

/* Sets *pruning to what run_prune would delete. Changes nothing. */
void run_prune_measure(const char *directory, enum run_keep keep, struct run_pruning *pruning);

/* Deletes the files, while it holds the run's lock, and sets *pruning to what was deleted. Returns
 * false with an error if a process trains the run, or if a file cannot be deleted. */
bool run_prune(const char *directory, enum run_keep keep, struct run_pruning *pruning,
               struct error *error);

/* Returns whether the run's file `name` was deleted by run_prune. */
bool run_prune_has_deleted(const char *directory, const char *name);

#endif
