/* export_tables.h: the curves of runs, and the arrays of models, for other programs' tables; and a
 * saved model as an array of C. */
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

/* Writes the arrays of a saved model (safetensors) as an .npz file, under their names. bf16, which
 * NumPy does not have, becomes float32. */
bool export_npz_model(const char *model, const char *path, struct error *error);

/* Writes the bytes of a saved model as a constant array of C, aligned to 64 bytes, and a constant
 * of its size, NAME and NAME_size, for a library that reads models from memory. NAME is that of the
 * file. In a header (.h) both are static. Returns false with an error. */
bool export_c_array(const char *model, const char *path, struct error *error);

#endif
