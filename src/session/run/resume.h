/* resume.h: going on with a run that is not complete.
 *
 * It goes on in its own directory from its last whole checkpoint, or from the start when it has
 * none yet, to the same bits as if it had never stopped, whatever the number of threads. What the
 * journal holds beyond the checkpoint is cut off: those iterations come again.
 */
#ifndef TINCA_SESSION_RUN_RESUME_H
#define TINCA_SESSION_RUN_RESUME_H

#include "base/error.h"
#include "session/config/config.h"
#include "session/record/run.h"

extern const char *const resume_fields[]; /* settings that may change; NULL-terminated */

/* Whether a run that ended so can go on; its error says why not. */
bool resume_allows(const struct run_snapshot *snapshot, const char *id, struct error *error);

/* Takes those of resume_fields over that `changes` was asked for. *changed: something differs. */
bool resume_change(struct run_config *config, const struct run_config *changes, bool *changed,
                   struct error *error);

#endif
