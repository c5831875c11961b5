/* Decides which runs can be resumed, and which settings can change then. */
#include "runs/record/resume.h"

#include "base/escape/shell.h"
#include "base/files/file.h"
#include "base/language.h"
#include "engine/network/network.h"
#include "engine/training/lr_schedule.h"
#include "runs/settings/config_paths.h"
#include "runs/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
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

/* Returns whether a longer run would have computed the iterations so far differently. */
static bool depends_on_length(const struct training_settings *training)
{
    const size_t schedule = training->schedule;
    return schedule == LR_SCHEDULE_POLY || schedule == LR_SCHEDULE_COSINE ||
           schedule == LR_SCHEDULE_LINEAR || schedule == LR_SCHEDULE_ONECYCLE ||
           (schedule == LR_SCHEDULE_STEP && training->step_size == 0);
}

static bool check_length(const struct run_config *config, const struct run_config *changes,
                         struct error *error)
{
    const bool counts = config_is_given(changes, KEY(iterations));
    const struct training_settings had = training_settings(config);
    const struct training_settings asked = training_settings(changes);
    const size_t old = had.has_iterations ? had.iterations : had.epochs;
    const size_t wanted = counts ? asked.iterations : asked.epochs;
    const char *what = counts ? OPTION(iterations) : OPTION(epochs);
    if (!counts && !config_is_given(changes, KEY(epochs)))
        return true;
    if (counts != had.has_iterations)
        return error_set(error, ERROR_USAGE, what,
                         had.has_iterations ? N_("give --iterations") : N_("give --epochs"),
                         "the run's length was given in the other unit");
    if (wanted < old)
        return error_set(error, ERROR_USAGE, what, "stop it when it has trained enough",
                         "a resumed run can become longer, not shorter: it is to have %zu", old);
    if (wanted > old && depends_on_length(&had))
        return error_set(error, ERROR_USAGE, what, "train a longer run from its start",
                         "the schedule %s spreads over the whole run: what has been trained would "
                         "have been another",
                         lr_schedule_names[had.schedule]);
    return true;
}

/* Writes an advice with the numbers of processes that can share `blocks` blocks, two or more. */
static void advise_processes(size_t blocks, char *advice, size_t size)
{
    char list[160] = "";
    for (size_t n = 1; n <= blocks / 2; n++)
        if (blocks % n == 0)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%zu", n > 1 ? ", " : "",
                     n);
    snprintf(advice, size, _("start %s or %zu processes"), list, blocks);
}

bool resume_check_processes(const struct run_config *config, const char *id, size_t processes,
                            struct error *error)
{
    char advice[200];
    const struct training_settings training = training_settings(config);
    const size_t blocks = training.blocks;
    const char *const alone = N_("it resumes in one process");
    if (processes <= 1 || machine_settings(config).on_gpu)
        return true;
    if (blocks <= 1)
        return error_set(error, ERROR_USAGE, id, alone, "this run was begun with one block");
    if (training.batch % blocks != 0)
        return error_set(error, ERROR_USAGE, id, alone,
                         "the %zu blocks of this run have unequal parts of its batches of %zu "
                         "images, which several processes cannot share",
                         blocks, training.batch);
    advise_processes(blocks, advice, sizeof advice);
    return blocks % processes == 0 ||
           error_set(error, ERROR_USAGE, id, advice,
                     "this run has %zu blocks, of which %zu processes cannot have equally many",
                     blocks, processes);
}

bool resume_check_network(const struct run_config *config, const char *directory,
                          struct error *error)
{
    char operand[400], advice[sizeof error->advice];
    char *kept = file_join(directory, "network.json");
    const char *network = network_settings(config).network;
    if (!network_is_path(network) || file_exists(network)) {
        free(kept);
        return true;
    }
    snprintf(advice, sizeof advice, _("bring it back, or train %s with --weights"),
             kept ? shell_operand(kept, operand, sizeof operand) : "network.json");
    free(kept);
    return error_set(error, ERROR_INPUT, network, advice,
                     "the run's network is that of this file, which is missing");
}

bool resume_change(struct run_config *config, const struct run_config *changes, bool *changed,
                   struct error *error)
{
    char given[CONFIG_LONGEST], value[sizeof given], old[sizeof given];
    *changed = false;
    if (!check_length(config, changes, error))
        return false;
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (!config_has_meaning(&config_fields[i], TASK_RESUME) || !config_is_given(changes, key))
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
