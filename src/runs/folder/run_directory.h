/* run_directory.h: the folder of all runs, and the folder of each run with its files.
 *
 * $XDG_STATE_HOME/tinca/runs/ID/ (default ~/.local/state), readable by the user alone:
 *   config.json            the configuration
 *   network.json           the network as it is trained: a network file of plain operators
 *   provenance.json        the command and the versions that computed it (computed_with.h)
 *   data.json              what the data sets consist of (data_fingerprint.h)
 *   journal                append only: records of a fixed size with checksums; a torn last one is
 *                          ignored (journal_record.h)
 *   weights.safetensors    the model at the end, or of the last command to save
 *   best.safetensors       with validation: the model with the best accuracy so far
 *   checkpoint.safetensors, checkpoint.previous.safetensors    until it is complete: the state to
 *                          resume from (checkpoint.h)
 *   ancestor.safetensors   of a fork that took weights alone: the file that it began with (fork.h)
 *   summary.json           how it ended; written last
 *   discriminator.safetensors, sample-EPOCH.png    of networks that make pictures
 *   measurements.json      tinca measure: times of one image by device (measurement.h)
 *   correct.json           which images of the validation set were classified correctly
 *                          (correct_images.h)
 *   profile.json           the last inspection (inspection.h)
 *   pruned.json            which weights tinca runs --prune deleted (run_prune.h)
 *   killed.json            why its process ended without saving (run_json.h)
 *   outputs.json           the files outside the folder that the run writes at its end
 *                          (run_json.h)
 *   name.txt, tags.txt, note.txt    the name that the user gave to the run, its tags and a note,
 *                          one line each (run_name.h)
 *   journal.previous, journal.damaged    the earlier journal of a run that started once more
 *   lock                   locked (flock) while the run is alive; it has the number and machine of
 *                          the process (run_owner.h). A run without summary whose lock is
 *                          free was interrupted
 *
 * Runs of earlier versions have journal.jsonl, journal.previous.jsonl and journal.damaged.jsonl, of
 * JSON lines, and journal.columns, which nothing reads any more. */
#ifndef TINCA_RUNS_FOLDER_RUN_DIRECTORY_H
#define TINCA_RUNS_FOLDER_RUN_DIRECTORY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns the path of the folder of all runs, which the caller frees. It may be missing, as before
 * the first run: only what writes there makes it, by file_make_directories or file_make_folder_of.
 * NULL with an error, also if other users own it or may write into it (folder_trust.h). */
char *run_directory_home(struct error *error);

/* Returns the path of `name` beside the folder of all runs, which has runs only; the caller frees
 * it. NULL with an error, as run_directory_home. */
char *run_directory_beside(const char *name, struct error *error);

/* Lists the IDs of all runs, oldest first; the caller frees each and the array. */
bool run_directory_list(char ***ids, size_t *count, struct error *error);

/* Lists incomplete folders in the same way: those of runs that were killed before config.json was
 * written, or while they were deleted. They have only a lock and half-written files; also
 * what a run writes before config.json, behind a mark (run_directory_begin). */
bool run_directory_list_incomplete(char ***ids, size_t *count, struct error *error);

/* Returns the folder of run `id`, which the caller frees. `id` is an ID, the name of a run
 * (run_name.h), an unambiguous beginning of an ID, or the path of a run's folder. NULL with an
 * error if there is no such run, or if other users own the folder or may write into it. */
char *run_directory_find(const char *id, struct error *error);

/* Does the same, but accepts a folder that others may write into. Use it only to show a run. */
char *run_directory_find_any(const char *id, struct error *error);

/* Creates the folder of a new run and returns its path, which the caller frees. It is `wanted`,
 * which must not have a run yet, and which no other user may own or write into (in the folder of
 * all runs its name is the ID); or, if that is NULL, a new folder below the folder of all runs, and
 * `id` (RUN_ID_SIZE bytes) is a new ID with `name` (run_id_name). Also deletes incomplete folders
 * that are older than a minute. NULL with an error. */
char *run_directory_create(const char *wanted, const char *name, char *id, struct error *error);

/* Returns whether no run has begun in a folder, and no process begins one: such a folder is listed
 * as incomplete if it is in the folder of runs. */
bool run_directory_is_incomplete(const char *directory);

/* Marks the folder of a run that gets other files before config.json as not begun yet: by a
 * half-written config.json, which the real one replaces. If the process is killed before, the
 * folder counts as incomplete. Returns false with an error. */
bool run_directory_begin(const char *directory, struct error *error);

/* Returns whether tinca writes files of this name into a run's folder, including half-written ones
 * (NAME.NUMBER.part). */
bool run_directory_is_own_file(const char *name);

/* Deletes the folder of a new run that was refused before it began. `whole`: the run has made the
 * folder; otherwise only the files that make it a run are deleted. The run must be locked. */
void run_directory_discard(const char *directory, bool whole);

/* Deletes half-written files that a crash left. The run must be locked. */
void run_directory_clear_parts(const char *directory);

/* Locks the lock file of a run. Returns a descriptor, which is closed when the run is over, or -1
 * with an error. A process that trains locks the folder, too. */
int run_directory_lock(const char *directory, struct error *error);

/* Returns whether a process has locked the lock file or the folder. */
bool run_directory_is_alive(const char *directory);

/* --- the locks of a run that is trained --- */

/* Locks the folder of a run for the process that trains there.
 *
 * The lock file shows other processes that the run is alive. But it could be removed, and a second
 * process could lock a new one. So the folder is locked, too (flock); where a folder cannot be
 * locked (NFS), only the lock file counts. A few times a second the run checks that its folder and
 * its lock file are still the ones at their path. */

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
