/* export.h: the session file (docs/session.schema.json) and the studies' CSV files.
 *
 * Written from the run directories, live runs too (their journals are flushed first).
 */
#ifndef TINCA_SESSION_EXPORT_EXPORT_H
#define TINCA_SESSION_EXPORT_EXPORT_H

#include "base/error.h"
#include "session/record/run.h"

#include <stddef.h>

/* Writes one JSON session of these runs to `path` (output_file.h). */
bool export_session(struct run *const *runs, size_t count, const char *path, struct error *error);

/* Writes loss_HOST_tinca.csv and times_HOST_tinca.csv into `directory` (created if need be), and
 * the same with their own host and framework for imported runs. If `directory` is a descriptor,
 * FIFO or device (output_file_is_stream), both tables go there, with an empty line between them. */
bool export_csv(struct run *const *runs, size_t count, const char *directory, struct error *error);

#endif
