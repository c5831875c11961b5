/* run_directory.h: where runs live, and what lies there.
 *
 * $XDG_STATE_HOME/tinca/runs/ID/ (default ~/.local/state), readable by the user alone:
 *   config.json            what was asked for
 *   network.json           the network as it is trained: a network file of plain operators
 *   data.json              what the data sets consist of (data_fingerprint.h)
 *   journal.jsonl          append only, a line an event; a torn last line is ignored
 *   weights.safetensors    the model at the end, or when it was last asked for
 *   best.safetensors       with validation: the model with the best accuracy so far
 *   checkpoint.safetensors, checkpoint.previous.safetensors    until it is complete: from where it
 *                          can go on (checkpoint.h)
 *   summary.json           how it ended; written last
 *   discriminator.safetensors, sample-EPOCH.png    of networks that make pictures
 *   measurements.json      tinca measure: times of one image by device (measurement.h)
 *   profile.json           what a look inside the run found (inspection.h)
 *   name.txt               the user's own name for it (run_name.h)
 *   journal.previous.jsonl, journal.damaged.jsonl    what a run that began again had recorded
 *                          before
 *   lock                   held (flock) while the run is alive, by the process whose number and
 *                          machine it holds (run_owner.h): a run without summary whose lock is
 *                          free was interrupted
 */
#ifndef TINCA_SESSION_FILES_RUN_DIRECTORY_H
#define TINCA_SESSION_FILES_RUN_DIRECTORY_H

#include "base/error.h"

#include <stddef.h>

/* The folder of all runs, created if need be; owned by the caller. NULL where other users own it or
 * may write into it (folder_trust.h). */
char *run_directory_home(struct error *error);

/* IDs of the runs there, oldest first; free each and the array. */
bool run_directory_list(char ***ids, size_t *count, struct error *error);

/* Folders there of runs that were killed before config.json was written (or while they were being
 * deleted): nothing but a lock and half-written files. Like run_directory_list. */
bool run_directory_list_incomplete(char ***ids, size_t *count, struct error *error);

/* The directory of run `id`: its ID, the name that its user gave it (run_name.h), an unambiguous
 * beginning of the ID, or the path of a directory that holds a run. NULL with an error that says
 * what is there, or that other users own the folder or may write into it. Owned by the caller. */
char *run_directory_find(const char *id, struct error *error);

/* The same, whoever may write into the run's folder: to look at, not to believe. */
char *run_directory_find_any(const char *id, struct error *error);

/* Creates the directory of a new run of `name` (run_id_name): `wanted` (which must not hold a run
 * yet, and which no other user may own or write into), or, when that is NULL, a new one below the
 * home, whose `id` (RUN_ID_SIZE bytes) is changed until it is free. Incomplete folders there that
 * are older than a minute are deleted on the way. Owned by the caller. */
char *run_directory_create(const char *wanted, const char *name, char *id, struct error *error);

/* Whether tinca writes files of this name into a run's directory (also ones that a crash left half
 * written beside: NAME.PID.part). */
bool run_directory_is_own_file(const char *name);

/* Deletes what a crash left half written. The run's lock must be held. */
void run_directory_clear_parts(const char *directory);

/* Takes the lock file of a run: a descriptor to be closed when the run is over, or -1. A process
 * that trains there takes the folder as well: run_hold.h. */
int run_directory_lock(const char *directory, struct error *error);

/* Whether some process holds the lock file or the folder. */
bool run_directory_is_alive(const char *directory);

#endif
