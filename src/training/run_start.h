/* run_start.h: starts or resumes a run in a worker thread. */
#ifndef TINCA_TRAINING_RUN_START_H
#define TINCA_TRAINING_RUN_START_H

#include "engine/cluster/cluster.h"
#include "runs/record/run.h"
#include "training/fork.h"

struct run_options {
    const char *run_directory; /* NULL: a new one below the state home */
    /* The path of --save: the weights at the end (with the preset cifar and validation: the best
     * ones). NULL: only the run directory's weights.safetensors and, with validation,
     * best.safetensors. */
    const char *save_path;
    /* Paths that are stored with save_path, for a command that resumes the run: the session files
     * of the run and of its group of seeds, which the caller writes. NULL: none */
    const char *session_path, *group_session_path;
    const char *name, *tags, *note; /* of the new run; NULL or "": none */
    struct cluster *cluster;  /* borrowed: the processes that train the run; NULL: this one alone */
    bool compare;             /* measure before the run whether one process is as fast as all */
    struct fork_request fork; /* the ancestor whose weights the run begins with; {0}: none */
};

/* Creates the run's folder and starts the worker, which opens the data and prepares the rest.
 * Returns NULL with an error for mistakes of the configuration that are known at once. If the
 * worker refuses the run before its first iteration (RUN_REFUSED), the folder is deleted again. */
struct run *run_start(const struct run_config *config, const struct run_options *options,
                      struct error *error);

/* Resumes a run (resume.h) in its folder. `changes` has the settings to change (NULL: none).
 * Returns NULL with an error if the run is complete, a setting cannot change, or another process
 * has the run. options->run_directory is not used. */
struct run *run_resume(const char *directory, const struct run_config *changes,
                       const struct run_options *options, struct error *error);

/* Takes part in the runs that rank 0 starts, on another rank, until it quits (ranks_serve). */
bool run_serve(struct cluster *cluster, size_t threads, struct error *error);

#endif
