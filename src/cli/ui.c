/* tinca ui, and tinca without a command: opens the workbench. Its form shows the last form that was
 * saved, with the options of the command line over it. */
#include "ui/ui.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/train.h"
#include "cli/workbench.h"
#include "engine/cluster/launcher.h"
#include "runs/settings/settings.h"
#include "ui/launched_terminal.h"
#include "ui/shared/preferences.h"

#include <string.h>

/* The options of the command line. */
struct start {
    struct ui_options options;
    struct workbench workbench;
    bool fresh;   /* --defaults */
    size_t ranks; /* --ranks */
    struct launched_terminal terminal;
    struct error refused; /* why there is no terminal */
};

enum { START_ROWS = 6 };

static void make_rows(struct start *start, struct option_row *rows)
{
    struct ui_options *options = &start->options;
    const struct option_row first[START_ROWS] = {
        SWITCH_ROW("start", N_("Start the run that the options describe at once."),
                   &options->start),
        SWITCH_ROW("defaults", N_("Begin with the defaults instead of the last form."),
                   &start->fresh),
        TEXT_ROW("run-dir", "DIR", N_("Store the first run in this new folder."),
                 &options->run.run_directory),
        TEXT_ROW("save", "FILE",
                 N_("Write the first run's weights to FILE (safetensors) at its end."),
                 &options->run.save_path),
        TEXT_ROW("export", "FILE", N_("The file that the export dialog proposes."),
                 &options->export_path),
        processes_row(&start->ranks)};
    memcpy(rows, first, sizeof first);
    workbench_rows(&start->workbench, rows + START_ROWS);
}

/* Replaces the defaults by the last form, and puts the options over it. A preset or a network on
 * the command line begins a new experiment: then the last form is not read. */
static void take_last_form(struct start *start)
{
    char value[512];
    const struct run_config given = start->options.config;
    struct run_config last;
    if (start->fresh || start->options.start || training_settings(&given).preset[0] ||
        config_is_given(&given, KEY(network)) || !last_form_read(&last, &start->options.skipped))
        return;
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_is_given(&given, key))
            config_set(&last, key, config_get(&given, key, value, sizeof value), NULL);
    }
    start->options.config = last;
}

/* Finds the terminal, if this is rank 0 of a launcher. */
static void find_terminal(struct start *start, const char *launcher)
{
    if (launched_terminal_open(&start->terminal, launcher, &start->refused))
        start->options.launched = &start->terminal;
}

/* Joins the ranks of a launcher. The terminal is looked for before that, since its guard must not
 * be a copy of a process of MPI; if the launcher is not recognised, only MPI knows the rank.
 * Returns whether this process shows the workbench; otherwise *status is the exit status. */
static bool join(struct start *start, int *status)
{
    struct cluster **cluster = &start->options.run.cluster;
    const struct launch launch = launcher_find();
    if (launch.launcher && launch.rank == 0)
        find_terminal(start, launch.launcher);
    if (!processes_join(start->ranks, &start->options.config, cluster, status)) {
        launched_terminal_close(&start->terminal);
        return false;
    }
    if (*cluster && !launch.launcher)
        find_terminal(start, "--ranks");
    if (!*cluster && start->terminal.tty < 0)
        start->options.launched = NULL; /* a terminal like any other */
    return true;
}

/* Trains as tinca train does, on a terminal that cannot position its cursor. Returns the exit
 * status. */
static int start_plainly(const struct ui_options *options)
{
    struct train train = {
        .config = options->config, .options = options->run, .export_path = options->export_path};
    return train_go(&train);
}

/* Opens the workbench, on rank 0. Returns the exit status. */
static int show(struct start *start)
{
    struct error error;
    if (start->refused.kind != ERROR_NONE)
        return output_error(&start->refused);
    if (!workbench_read_options(&start->workbench, &start->options, &error))
        return output_error(&error);
    if (start->options.run.save_path &&
        !output_file_check(start->options.run.save_path, OUTPUT_BINARY, &error))
        return output_error(&error);
    take_last_form(start);
    if (start->options.start && !start->options.launched && ui_prints_lines_only())
        return start_plainly(&start->options);
    const bool done = ui_run(&start->options, &error);
    launched_terminal_close(&start->terminal); /* before a message */
    return done ? EXIT_DONE : output_error(&error);
}

static int ui_command_run(const struct command *command, int argc, char **argv)
{
    struct start start = {.options.remember = true, .terminal = LAUNCHED_TERMINAL_NONE};
    struct option_row rows[START_ROWS + WORKBENCH_ROWS];
    struct operands operands;
    int status;
    make_rows(&start, rows);
    const struct option_set set = {.rows = rows,
                                   .config = &start.options.config,
                                   .task = TASK_TRAIN,
                                   .operands_max = 1,
                                   .network_operand = true};
    config_defaults(&start.options.config);
    if (!options_read(command, &set, argc, argv, &operands, &status) || !join(&start, &status))
        return status;
    status = show(&start);
    launched_terminal_close(&start.terminal);
    return processes_leave(start.options.run.cluster, status);
}

const struct command command_ui = {
    .name = "ui",
    .in_launcher = true,
    .operands = "[NET]",
    .summary = N_("Open the workbench: set up, watch and export runs (the default)."),
    .details = N_("The options fill in the form of the workbench; the rest of it is as it was last "
                  "left. The key ? lists all keys.\nIn a launcher (mpirun -n 4 tinca ui) rank 0 "
                  "shows the workbench, and all ranks train each run that is started there."),
    .run = ui_command_run,
};
