/* run_start.h: starts a run, or goes on with one, in a worker thread of its own. */
#ifndef TINCA_SESSION_RUN_RUN_START_H
#define TINCA_SESSION_RUN_RUN_START_H

#include "session/record/run.h"

struct run_options {
    const char *run_directory; /* NULL: a new one below the state home */
    /* --save: the weights at the end (with the preset cifar and validation: the best ones). NULL:
     * only the run directory's weights.safetensors and, with validation, best.safetensors. */
    const char *save_path;
};

/* Makes the run directory and starts the worker, which opens the data and prepares the rest; what
 * is wrong with the configuration and can be known at once is refused here (NULL). */
struct run *run_start(const struct run_config *config, const struct run_options *options,
                      struct error *error);

/* Goes on with a run that is not complete (resume.h), in its own directory. `changes`: settings
 * that were asked for and may change; NULL: none. NULL when it is complete, cannot be changed so,
 * or when another process has it. The options' run_directory is not used. */
struct run *run_resume(const char *directory, const struct run_config *changes,
                       const struct run_options *options, struct error *error);

#endif
