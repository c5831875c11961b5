/* export_tables.h: the curves of runs for other programs' tables. */
#ifndef TINCA_EXCHANGE_EXPORT_EXPORT_TABLES_H
#define TINCA_EXCHANGE_EXPORT_EXPORT_TABLES_H

#include "base/error.h"
#include "runs/record/run.h"

#include <stddef.h>

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
