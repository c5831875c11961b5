/* Which runs can be resumed, and which settings can change then. */
#include "session/record/resume.h"

#include "base/language.h"
#include "engine/training/lr_schedule.h"
#include "session/config/config_paths.h"

#include <string.h>

bool resume_allows(const struct run_snapshot *snapshot, const char *id, struct error *error)
{
    switch (snapshot->status) {
    case RUN_DONE:
        return error_set(error, ERROR_USAGE, id, "tinca train with more epochs makes another one",
                         "this run is complete: there is nothing left to do");
    case RUN_FAILED:
        if (snapshot->error.kind == ERROR_DIVERGED)
            return error_set(error, ERROR_USAGE, id, "train again with a smaller learning rate",
                             "its loss became NaN or infinite, and would again");
        return true;
    case RUN_STOPPED:
    case RUN_REFUSED:
    case RUN_INTERRUPTED:
        return true;
    default:
        return error_set(error, ERROR_USAGE, id, "wait for its end, or stop it", "this run is on");
    }
}

const char *const resume_fields[] = {
    "threads",        "epochs",   "iterations",  "checkpoint", "checkpoint-share",
    "save-precision", "max-time", "tensorboard", "bucket",     NULL};

/* Returns whether a longer run would have computed the iterations so far differently. */
static bool depends_on_length(const struct run_config *config)
{
    return config->schedule == LR_SCHEDULE_POLY || config->schedule == LR_SCHEDULE_COSINE ||
           config->schedule == LR_SCHEDULE_LINEAR || config->schedule == LR_SCHEDULE_ONECYCLE ||
           (config->schedule == LR_SCHEDULE_STEP && config->step_size == 0);
}

static bool check_length(const struct run_config *config, const struct run_config *changes,
                         struct error *error)
{
    const bool counts = config_is_given(changes, "iterations");
    const size_t old = config->has_iterations ? config->iterations : config->epochs;
    const size_t wanted = counts ? changes->iterations : changes->epochs;
    const char *what = counts ? "--iterations" : "--epochs";
    if (!counts && !config_is_given(changes, "epochs"))
        return true;
    if (counts != config->has_iterations)
        return error_set(error, ERROR_USAGE, what,
                         config->has_iterations ? N_("give --iterations") : N_("give --epochs"),
                         "the run's length was given in the other unit");
    if (wanted < old)
        return error_set(error, ERROR_USAGE, what, "stop it when it has trained enough",
                         "a resumed run can become longer, not shorter: it is to have %zu", old);
    if (wanted > old && depends_on_length(config))
        return error_set(error, ERROR_USAGE, what, "train a longer run from its start",
                         "the schedule %s spreads over the whole run: what has been trained would "
                         "have been another",
                         lr_schedule_names[config->schedule]);
    return true;
}

bool resume_change(struct run_config *config, const struct run_config *changes, bool *changed,
                   struct error *error)
{
    char given[sizeof config->tensorboard], value[sizeof given], old[sizeof given];
    *changed = false;
    if (!check_length(config, changes, error))
        return false;
    for (size_t i = 0; resume_fields[i]; i++) {
        const char *key = resume_fields[i];
        if (!config_is_given(changes, key))
            continue;
        config_get(changes, key, given, sizeof given);
        if (!config_absolute_value(key, given, value, sizeof value, error))
            return false;
        config_get(config, key, old, sizeof old);
        *changed |= strcmp(value, old) != 0;
        if (!config_set(config, key, value, error))
            return false;
    }
    return true;
}
