/* run_killed.h: killed.json in a run's folder, which says why its process ended without saving. The
 * process that had started it writes the file; a resumed run removes it. Internal to session/. */
#ifndef TINCA_SESSION_FILES_RUN_KILLED_H
#define TINCA_SESSION_FILES_RUN_KILLED_H

#include "session/values/run_snapshot.h"

#include <stdbool.h>

/* Records the reason. Returns false with an error if the file cannot be written. */
bool run_killed_write(const char *directory, const struct error *reason, struct error *error);

/* Takes the reason into the snapshot, which becomes RUN_INTERRUPTED, if there is a record. Returns
 * false with an error if it is damaged. */
bool run_killed_load(const char *directory, struct run_snapshot *snapshot, struct error *error);

/* Makes the snapshot of a run that is over RUN_INTERRUPTED, with the reason, if its process was
 * killed after its summary, if any, was written: while it was being resumed. A damaged record says
 * nothing. */
void run_killed_read(const char *directory, struct run_snapshot *snapshot);

/* Removes the record, if there is one. */
void run_killed_remove(const char *directory);

#endif
