/* sweep_step.h: applies one step of a chain of techniques in a process of its own, as
 * sweep_process.h computes a cell: a step that crashes or is killed for memory cannot harm the
 * others.
 *
 * The process is this program once more. A file beside the step's output says what it is to apply;
 * the process replaces that by the outcome, and the one that started it reads and deletes it.
 *
 * Not thread-safe. */
#ifndef TINCA_STUDIES_SWEEP_SWEEP_STEP_H
#define TINCA_STUDIES_SWEEP_SWEEP_STEP_H

#include "training/compress/technique.h"

#include <stdbool.h>

/* Returns whether sweep_after_compute of another process has started this one to apply a step; then
 * its command line is the program, "sweep-step" and the file. */
bool sweep_step_is_child(void);

/* Applies the step that the file names, and replaces the file by the outcome. Returns false with an
 * error if the step failed; sets *recorded to whether the outcome is in the file. */
bool sweep_step_work(const char *file, const struct technique_watch *watch, bool *recorded,
                     struct error *error);

#endif
