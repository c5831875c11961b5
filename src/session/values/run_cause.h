/* run_cause.h: what ended a run that can go on: a lack of memory or of disk space, as distinct from
 * a fault of its own. Thread-safe. */
#ifndef TINCA_SESSION_VALUES_RUN_CAUSE_H
#define TINCA_SESSION_VALUES_RUN_CAUSE_H

#include "session/values/run_snapshot.h"

enum run_cause { RUN_CAUSE_OTHER, RUN_CAUSE_MEMORY, RUN_CAUSE_DISK };

/* Returns what the error says: the kind of a lack of memory, or a full disk, by its mark or in its
 * words the system's reason. */
enum run_cause run_cause_of_error(const struct error *error);

/* Returns the cause's name in files: other languages read them, too. */
const char *run_cause_name(const struct error *error);

/* Marks an error that was read from a file with the cause that the file names; NULL: none. */
void run_cause_take(struct error *error, const char *name);

/* Returns the cause of the end of a run that failed or whose process was killed; of any other run
 * RUN_CAUSE_OTHER. */
enum run_cause run_cause_of(const struct run_snapshot *snapshot);

#endif
