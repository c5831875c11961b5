/* tinca ui, and tinca alone: the workbench. */
#include "ui/ui.h"

#include "base/files/output_file.h"
#include "base/language.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/train.h"
#include "cli/workbench.h"
#include "ui/shared/last_form.h"

#include <string.h>

/* What is set up before the workbench opens. */
struct start {
    struct ui_options options;
    struct workbench workbench;
    bool fresh; /* --defaults */
};

enum { OWN_ROWS = 5 };

static void make_rows(struct start *start, struct option_row *rows)
{
    struct ui_options *options = &start->options;
    const struct option_row own[OWN_ROWS] = {
        {"start", 0, NULL, N_("Run what the options describe at once."), OPTION_SWITCH,
         &options->start, 0, 0, NULL},
        {"defaults", 0, NULL, N_("Begin with the defaults and not with the form as it was left."),
         OPTION_SWITCH, &start->fresh, 0, 0, NULL},
        {"run-dir", 0, "DIR", N_("Keep the first run in this new folder."), OPTION_TEXT,
         &options->run.run_directory, 0, 0, NULL},
        {"save", 0, "FILE", N_("Write the first run's weights to FILE (safetensors) at its end."),
         OPTION_TEXT, &options->run.save_path, 0, 0, NULL},
        {"export", 0, "FILE", N_("The file that the export dialog proposes."), OPTION_TEXT,
         &options->export_path, 0, 0, NULL}};
    memcpy(rows, own, sizeof own);
    workbench_rows(&start->workbench, rows + OWN_ROWS);
}

/* The form as it was left, and over it the command line; another experiment begins afresh. */
static void take_last_form(struct start *start)
{
    char value[512];
    const struct run_config given = start->options.config;
    struct run_config last;
    if (start->fresh || start->options.start || given.preset[0] ||
        config_is_given(&given, "network") || !last_form_read(&last, &start->options.skipped))
        return;
    for (size_t i = 0; i < config_field_count; i++) {
        const char *key = config_fields[i].key;
        if (config_is_given(&given, key))
            config_set(&last, key, config_get(&given, key, value, sizeof value), NULL);
    }
    start->options.config = last;
}

/* A terminal that cannot place its cursor: the run is shown as tinca train shows it. */
static int start_plainly(const struct ui_options *options)
{
    struct train train = {
        .config = options->config, .options = options->run, .export_path = options->export_path};
    return train_go(&train);
}

static int ui_command_run(const struct command *command, int argc, char **argv)
{
    struct start start = {.options.remember = true};
    struct option_row rows[OWN_ROWS + WORKBENCH_ROWS];
    struct error error;
    struct operands operands;
    int status;
    make_rows(&start, rows);
    const struct option_set set = {
        .rows = rows, .config = &start.options.config, .operands_max = 1, .network_operand = true};
    config_defaults(&start.options.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (!workbench_take(&start.workbench, &start.options, &error))
        return output_error(&error);
    if (start.options.run.save_path &&
        !output_file_check(start.options.run.save_path, OUTPUT_BINARY, &error))
        return output_error(&error);
    take_last_form(&start);
    if (start.options.start && ui_prints_lines_only())
        return start_plainly(&start.options);
    if (!ui_run(&start.options, &error))
        return output_error(&error);
    return EXIT_DONE;
}

const struct command command_ui = {
    "ui", "[NET]", N_("The workbench: set runs up, watch and export them (the default)."),
    N_("The options fill the workbench's form, which otherwise is as it was left. Keys are listed "
       "by "
       "? "
       "inside it."),
    ui_command_run};
