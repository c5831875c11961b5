/* export.h: exports runs as a session file (docs/session.schema.json), as the studies' CSV files,
 * and as tables and arrays for other programs.
 *
 * The data come from the run folders. Running experiments can be exported, too: their journals are
 * flushed first.
 */
#ifndef TINCA_EXCHANGE_EXPORT_EXPORT_H
#define TINCA_EXCHANGE_EXPORT_EXPORT_H

#include "base/error.h"
#include "runs/record/run.h"

#include <stddef.h>

/* Writes one JSON session of these runs to `path` (output_file.h). */
bool export_session(struct run *const *runs, size_t count, const char *path, struct error *error);

/* Writes loss_HOST_tinca.csv and times_HOST_tinca.csv into `directory` (created if need be), and
 * the same with their own host and framework for imported runs. If `directory` is a descriptor,
 * FIFO or device (output_file_is_stream), both tables go there, with an empty line between them. */
bool export_csv(struct run *const *runs, size_t count, const char *directory, struct error *error);

/* Writes one CSV table of all series of the runs, a row for each value: run, series, step, epoch,
 * time, value. `step` counts iterations, `time` is in seconds since the run began, without pauses;
 * NaN is written as NaN. */
bool export_csv_long(struct run *const *runs, size_t count, const char *path, struct error *error);

/* Writes the series of the runs as arrays in an .npz file of NumPy: "loss", "validation/top1"; of
 * several runs "RUN/loss". "iteration", "epoch" and "seconds" belong to the series of iterations,
 * "validation/iteration", ... to those of validations, and "config" is the configuration, a text in
 * JSON. */
bool export_npz(struct run *const *runs, size_t count, const char *path, struct error *error);

#endif
