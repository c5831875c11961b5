/* tinca attach: shows a run that another process computes, in the workbench or, without a terminal,
 * as lines. It reads the files that the process writes and sends it nothing. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/train.h"
#include "cli/workbench.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "base/language.h"
#include "base/memory.h"
#include "runs/folder/folder_trust.h"
#include "runs/folder/run_directory.h"
#include "runs/history/follow.h"
#include "runs/values/run_snapshot.h"
#include "ui/shared/preferences.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double poll_seconds = 0.25;

/* --- which run --- */

/* Returns the folder of the newest run that a live process computes, or NULL. The caller frees it.
 */
static char *find_running(char *const *ids, size_t count, const char *home)
{
    for (size_t i = count; i-- > 0;) {
        char *directory = file_join(home, ids[i]);
        if (directory && folder_trust_check(directory, NULL) && run_directory_is_alive(directory))
            return directory;
        free(directory);
    }
    return NULL;
}

static char *newest_running(struct error *error)
{
    char **ids = NULL, *home = run_directory_home(error), *directory = NULL;
    size_t count = 0;
    if (home && run_directory_list(&ids, &count, error)) {
        directory = find_running(ids, count, home);
        if (!directory)
            error_set(error, ERROR_USAGE, "attach", "tinca runs lists all runs",
                      "no run is in progress");
    }
    for (size_t i = 0; i < count; i++)
        free(ids[i]);
    free(ids);
    free(home);
    return directory;
}

/* Returns the path under which the workbench lists the run in the folder `whole`; the caller frees
 * it. NULL if `whole` is not in the folder of runs, or out of memory. */
static char *as_listed(const char *whole)
{
    char other[PATH_MAX];
    char *home = run_directory_home(NULL);
    char *listed = home ? file_join(home, file_base_name(whole)) : NULL;
    free(home);
    if (listed && realpath(listed, other) && strcmp(whole, other) == 0)
        return listed;
    free(listed);
    return NULL;
}

/* Returns the absolute path of the run's folder, by which the workbench identifies runs; the caller
 * frees it. */
static char *find(const struct operands *operands, struct error *error)
{
    char whole[PATH_MAX];
    char *directory = operands->count > 0 ? run_directory_find(operands->values[0], error)
                                          : newest_running(error);
    if (!directory || !realpath(directory, whole))
        return directory;
    free(directory);
    directory = as_listed(whole);
    return directory ? directory : memory_copy_text(whole, error);
}

/* --- lines --- */

/* Frees the run and opens it again: a resumed run continues from its last checkpoint, so that the
 * iterations read after that no longer hold. */
static struct run *reopen(struct run *run, const char *directory, struct progress *progress,
                          struct error *error)
{
    run_free(run);
    progress->findings = 0;
    progress->begun = false;
    return follow_open(directory, error);
}

static bool is_over(const struct run *run)
{
    struct run_snapshot snapshot;
    run_snapshot(run, &snapshot);
    return run_status_is_over(snapshot.status);
}

/* Prints how the run ended. Returns the exit status. */
static int report(struct run *run, bool quiet)
{
    struct run_snapshot snapshot;
    struct error error;
    char operand[200], advice[sizeof error.advice];
    run_snapshot(run, &snapshot);
    if (snapshot.status != RUN_INTERRUPTED)
        return train_finish(&(struct train){.quiet = quiet}, run, true);
    if (!train_is_kept(run)) {
        error_set(&error, ERROR_SYSTEM, run_facts(run)->id, "tinca runs lists those that are left",
                  "its folder was deleted or moved");
        return output_error(&error);
    }
    snprintf(advice, sizeof advice, _("tinca resume %s continues it"),
             train_operand(run, operand, sizeof operand));
    error_set(&error, ERROR_SYSTEM, run_facts(run)->id, advice,
              "it was interrupted: its process ended without saving");
    return output_error(&error);
}

/* Prints progress until the run is over. Returns the exit status. */
static int show_lines(const char *directory, bool quiet)
{
    struct error error;
    struct progress progress = progress_begin(quiet);
    struct run *run = follow_open(directory, &error);
    while (run && !is_over(run)) {
        const enum follow_result news = follow_step(run);
        if (news == FOLLOW_REOPEN)
            run = reopen(run, directory, &progress, &error);
        else if (news != FOLLOW_MORE)
            progress_show(&progress, run);
        if (news != FOLLOW_MORE)
            clock_sleep(poll_seconds);
    }
    if (!run)
        return output_error(&error);
    progress_end(&progress, run);
    const int status = report(run, quiet);
    run_free(run);
    return status;
}

/* --- the workbench --- */

static int show_workbench(const char *directory, struct workbench *workbench)
{
    struct error error;
    struct ui_options options = {.attach = directory, .remember = true};
    if (!workbench_read_options(workbench, &options, &error))
        return output_error(&error);
    if (!last_form_read(&options.config, &options.skipped))
        config_defaults(&options.config);
    return ui_run(&options, &error) ? EXIT_DONE : output_error(&error);
}

static int attach_run(const struct command *command, int argc, char **argv)
{
    struct workbench workbench = {0};
    struct option_row rows[1 + WORKBENCH_ROWS];
    struct error error;
    struct operands operands;
    bool quiet = false;
    int status;
    rows[0] = (struct option_row){.name = "quiet",
                                  .letter = 'q',
                                  .help = N_("Only wait until the run ends; print only errors."),
                                  .kind = OPTION_SWITCH,
                                  .value = &quiet};
    workbench_rows(&workbench, rows + 1);
    const struct option_set set = {.rows = rows, .operands_max = 1};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    char *directory = find(&operands, &error);
    if (!directory)
        return output_error(&error);
    const bool terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !ui_prints_lines_only();
    status =
        terminal && !quiet ? show_workbench(directory, &workbench) : show_lines(directory, quiet);
    free(directory);
    return status;
}

const struct command command_attach = {
    .name = "attach",
    .operands = "[RUN]",
    .summary = N_("Watch a run that another process computes."),
    .details =
        N_("RUN is a run's ID, the beginning of its ID, its name, or its folder; without it the "
           "newest run in progress. The workbench shows the run live and read-only. Once its "
           "process has ended, the key r continues a run that was stopped or interrupted. Quitting "
           "leaves the run alone.\nWithout a terminal the run is shown in lines until it ends, and "
           "the exit status is the run's: 0 done, 1 failed or interrupted, 130 stopped."),
    .run = attach_run,
};
