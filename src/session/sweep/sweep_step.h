/* sweep_step.h: applies one step of a chain of techniques in a process of its own, as
 * sweep_process.h computes a cell: a step that crashes or is killed for memory cannot harm the
 * others.
 *
 * The process is this program once more. A file beside the step's output says what it is to apply;
 * the process replaces that by the outcome, and the one that started it reads and deletes it.
 *
 * Not thread-safe. */
#ifndef TINCA_SESSION_SWEEP_SWEEP_STEP_H
#define TINCA_SESSION_SWEEP_SWEEP_STEP_H

#include "base/json/json.h"
#include "session/models/technique.h"

#include <stdbool.h>

struct sweep_step {
    const char *step;
    struct technique_target target;
    const char *file, *log; /* of the process: what to apply and the outcome, and its messages */
    bool (*stop)(void *context);
    void *context;
};

/* Applies a step and waits for the end of its process. A process that is to stop gets SIGTERM, so
 * that it can save, and SIGKILL if it goes on for long; it does not survive this one. Returns false
 * with an error: of kind ERROR_INTERRUPTED if it was stopped or killed, of kind ERROR_MEMORY if it
 * was killed or refused for memory, else as the technique has set it. */
bool sweep_step_apply(const struct sweep_step *step, struct error *error);

/* Returns whether sweep_step_apply of another process has started this one; then its command line
 * is the program, "sweep-step" and the file. */
bool sweep_step_is_child(void);

/* Applies the step that the file names, and replaces the file by the outcome. Returns false with an
 * error if the step failed; sets *recorded to whether the outcome is in the file. */
bool sweep_step_work(const char *file, const struct technique_watch *watch, bool *recorded,
                     struct error *error);

/* Adds an error to a document, or reads that of a document. Return false if out of memory, or if
 * there is none. */
bool sweep_failure_to_json(struct json *root, const struct error *failure);
bool sweep_failure_from_json(const struct json *root, struct error *failure);

#endif
