/* export_record.h: what a session file says about a run besides settings and curves: its labels,
 * how it came about, its network, its data, its model and its measurements. Internal to export. */
#ifndef TINCA_SESSION_EXPORT_EXPORT_RECORD_H
#define TINCA_SESSION_EXPORT_EXPORT_RECORD_H

#include "base/json/json.h"
#include "session/record/run.h"

/* Returns an object with these members, each only if the run has it; "damaged" lists the files that
 * cannot be read. The caller frees it. Returns NULL with an error if memory is short. */
struct json *export_record(const struct run_facts *facts, const struct run_snapshot *snapshot,
                           struct error *error);

#endif
