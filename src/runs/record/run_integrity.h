/* run_integrity.h: verifies that the files of a run belong together.
 *
 * A checkpoint and a summary record the journal's length and checksum at the time when they were
 * written. After a power cut, a lost sector or a manual edit they may no longer match. These
 * functions only read; each returns false with an error that names the damage. */
#ifndef TINCA_RUNS_RECORD_RUN_INTEGRITY_H
#define TINCA_RUNS_RECORD_RUN_INTEGRITY_H

#include "engine/weights/safetensors.h"
#include "runs/folder/journal.h"
#include "runs/settings/config.h"

/* Checks the position that an opened checkpoint records: the iteration lies within the run, and
 * epoch and journal length agree with it. The arrays are checked by checkpoint_restore. */
bool run_integrity_check_place(const struct safetensors *checkpoint,
                               const struct run_config *config, struct error *error);

/* Checks that the journal begins with the bytes it had when an opened checkpoint was written. A
 * checkpoint of an earlier version may have no checksum: only the length and the last iteration are
 * compared then. */
bool run_integrity_check_journal(const char *directory, const struct safetensors *checkpoint,
                                 struct error *error);

/* Checks that the journal of a finished run is the one that its summary was written with. A summary
 * of an earlier version has no checksum: the journal must then reach the summary's last iteration.
 * Returns true if there is no summary. `found` is what a reading has just found the journal to be,
 * or NULL. */
bool run_integrity_check_end(const char *directory, const struct journal_found *found,
                             struct error *error);

#endif
