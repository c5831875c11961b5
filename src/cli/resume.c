/* tinca resume: continues a run that was interrupted or stopped, in its folder. Only options that
 * do not change what the run computes are accepted. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/seeds.h"
#include "cli/stop_signal.h"
#include "cli/train.h"
#include "cli/train_wait.h"

#include "base/language.h"
#include "runs/folder/run_directory.h"
#include "runs/folder/run_json.h"
#include "runs/history/seed_group.h"
#include "runs/record/resume.h"
#include "training/run_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Refuses the other options of tinca train with their reason: they would make it a different run.
 */
static bool check_options(int argc, char **argv, struct error *error)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        char key[32];
        if (strncmp(argv[i], "--", 2) != 0 || strcspn(argv[i] + 2, "=") >= sizeof key)
            continue;
        snprintf(key, sizeof key, "%.*s", (int)strcspn(argv[i] + 2, "="), argv[i] + 2);
        const struct config_field *field = config_find(key);
        if (field && !config_has_meaning(field, TASK_RESUME))
            return error_set(error, ERROR_USAGE, argv[i], "start another run with tinca train",
                             "it would change what the run computes: only the threads, a longer "
                             "run and checkpoints can change");
    }
    return true;
}

/* Finds the run, continues it and shows it until it is over. Returns the exit status. */
static int go_on(const char *name, const struct train *train)
{
    struct error error;
    char *directory = run_directory_find(name, &error);
    if (!directory)
        return output_error(&error);
    stop_signal_catch_for_runs();
    const int status = train_resumed(directory, train);
    free(directory);
    return status;
}

static int resume_run(const struct command *command, int argc, char **argv)
{
    struct train train = {0};
    struct error error;
    struct operands operands;
    int status;
    size_t ranks = 0;
    const struct option_row rows[] = {
        TEXT_ROW("save", "FILE", N_("Write the weights to FILE (safetensors) at the end."),
                 &train.options.save_path),
        TEXT_ROW("export", "FILE", N_("Write the session to FILE (JSON) at the end."),
                 &train.export_path),
        SWITCH_ROW("wait", N_("Start when no other run of yours is on, first come first served."),
                   &train.wait),
        processes_row(&ranks),
        OUTPUT_QUIET_OPTION(&train.quiet),
        {0}};
    const struct option_set set = {.rows = rows,
                                   .config = &train.config,
                                   .task = TASK_RESUME,
                                   .operands_min = 1,
                                   .operands_max = 1};
    config_defaults(&train.config);
    if (!check_options(argc, argv, &error))
        return output_error(&error);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!processes_join(ranks, &train.config, &train.options.cluster, &status))
        return status;
    train.options.compare = train.options.cluster && !train.quiet;
    if (!train_check_targets(&train, &error))
        status = output_error(&error);
    else
        status = seed_group_is_operand(operands.values[0])
                     ? seeds_resume(operands.values[0], &train)
                     : go_on(operands.values[0], &train);
    return processes_leave(train.options.cluster, status);
}

const struct command command_resume = {
    .name = "resume",
    .in_launcher = true,
    .operands = "RUN",
    .summary = N_("Continue a run that was interrupted or stopped."),
    .details = N_(
        "RUN is a run's ID, the beginning of its ID, its name, or its folder. It continues from "
        "its last checkpoint and gives the same bits as if it had never stopped, with any "
        "number of threads. Only the settings below can change; the run can become longer, "
        "unless its learning-rate schedule spans the whole run. The files of --save and --export "
        "that it was begun with are written at its end, unless others are named.\nRUN@seeds is the "
        "group "
        "of seeds of that run, or of that name: unfinished runs continue, missing ones "
        "start.\nInterrupting (Ctrl-C) finishes "
        "the iteration and saves; a second time ends at once."),
    .run = resume_run,
};
