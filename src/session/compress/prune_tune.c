/* A step's run begins with the file of the step as network and as weights. The folder of the run is
 * noted before it is followed, so that a repeated command finds it: complete, or to be resumed. */
#include "session/compress/prune_tune.h"

#include "base/files/file.h"
#include "base/files/output_file.h"
#include "base/language.h"
#include "session/record/run_open.h"
#include "session/training/run_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starts the run of a step and notes its folder. */
static struct run *start(struct prune_state *state, size_t step,
                         const struct prune_request *request, struct error *error)
{
    char note[160];
    struct run_config config = request->config;
    char *path = prune_state_model(state, step, false, error);
    snprintf(note, sizeof note, "fine-tuning after step %zu of %zu of a pruning", step + 1,
             request->steps);
    const struct run_options options = {.note = note, .tags = "prune"};
    struct run *run = path && config_set(&config, "network", path, error) &&
                              config_set(&config, "weights", path, error) &&
                              config_check(&config, error)
                          ? run_start(&config, &options, error)
                          : NULL;
    free(path);
    if (!run)
        return NULL;
    snprintf(state->stages[step].run, sizeof state->stages[step].run, "%s",
             run_facts(run)->directory);
    if (prune_state_write(state, error))
        return run;
    run_free(run);
    return NULL;
}

/* Continues the run of a step with the threads that the request has. */
static struct run *resume(const char *directory, const struct prune_request *request,
                          struct error *error)
{
    char threads[32];
    struct run_config changes;
    config_defaults(&changes);
    if (config_is_given(&request->config, "threads") &&
        !config_set(&changes, "threads",
                    config_get(&request->config, "threads", threads, sizeof threads), error))
        return NULL;
    return run_resume(directory, &changes, NULL, error);
}

/* Returns the run of a step, that trains; NULL with an error or, if it is complete, with
 * ERROR_NONE. */
static struct run *begin(struct prune_state *state, size_t step,
                         const struct prune_request *request, struct error *error)
{
    struct run_outline *outline = malloc(sizeof *outline);
    struct run *run = NULL;
    const char *directory = state->stages[step].run;
    error->kind = ERROR_NONE;
    if (!outline)
        error_set_memory(error, "a run", 0);
    else if (!directory[0] || !file_is_directory(directory)) /* it was refused or removed */
        run = start(state, step, request, error);
    else if (run_peek(directory, outline, error) && outline->snapshot.status != RUN_DONE)
        run = resume(directory, request, error);
    free(outline);
    return run;
}

/* Returns whether a run that is over is complete; if not, sets the error. */
static bool check_end(const struct run *run, struct error *error)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    if (snapshot.status == RUN_DONE)
        return true;
    if (snapshot.status == RUN_STOPPED || snapshot.error.kind == ERROR_NONE)
        return error_set(error, ERROR_INTERRUPTED, run_facts(run)->id,
                         "the same command continues it", "the fine-tuning was stopped");
    *error = snapshot.error;
    return false;
}

bool prune_tune(struct prune_state *state, size_t step, const struct prune_request *request,
                const struct prune_hooks *hooks, struct error *error)
{
    struct run *run = begin(state, step, request, error);
    if (!run && error->kind != ERROR_NONE)
        return false;
    if (run) {
        hooks->follow(hooks->context, run);
        const bool complete = check_end(run, error);
        run_free(run);
        if (!complete)
            return false;
    }
    char *trained = file_join(state->stages[step].run, "weights.safetensors");
    char *path = prune_state_model(state, step, true, error);
    const bool saved = trained && path && output_file_copy(path, trained, error);
    free(trained);
    free(path);
    state->stages[step].tuned = saved;
    return saved && prune_state_write(state, error);
}
