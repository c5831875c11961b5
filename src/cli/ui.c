/* tinca ui, and tinca alone: the workbench. */
#include "ui/ui.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/train.h"

#include "base/language.h"

/* A terminal that cannot place its cursor: the run is shown as tinca train shows it. */
static int start_plainly(const struct ui_options *options)
{
    struct train train = {
        .config = options->config, .options = options->run, .export_path = options->export_path};
    return train_go(&train);
}

static int ui_command_run(const struct command *command, int argc, char **argv)
{
    static const char *const yes_no[] = {"yes", "no", NULL};
    struct ui_options options = {0};
    const char *mouse = NULL;
    struct error error;
    struct operands operands;
    int status;
    const struct option_row rows[] = {
        {"start", 0, NULL, N_("Run what the options describe at once."), OPTION_SWITCH,
         &options.start, 0, 0, NULL},
        {"colours", 0, "NAME", N_("The colours of the screen."), OPTION_NAME, &options.colours, 0,
         0, ui_colours},
        {"symbols", 0, "NAME",
         N_("What curves are drawn with; without it what the locale can show."), OPTION_NAME,
         &options.symbols, 0, 0, ui_symbols},
        {"mouse", 0, "yes|no",
         N_("Whether clicks and the wheel work; text is then marked with Shift."), OPTION_NAME,
         &mouse, 0, 0, yes_no},
        {"slow", 0, NULL,
         N_("For slow lines: curves and figures are drawn every few seconds only."), OPTION_SWITCH,
         &options.slow, 0, 0, NULL},
        {"run-dir", 0, "DIR", N_("Keep the first run in this new folder."), OPTION_TEXT,
         &options.run.run_directory, 0, 0, NULL},
        {"save", 0, "FILE", N_("Write the first run's weights to FILE (safetensors) at its end."),
         OPTION_TEXT, &options.run.save_path, 0, 0, NULL},
        {"export", 0, "FILE", N_("The file that the export dialog proposes."), OPTION_TEXT,
         &options.export_path, 0, 0, NULL},
        {0}};
    const struct option_set set = {
        .rows = rows, .config = &options.config, .operands_max = 1, .network_operand = true};
    config_defaults(&options.config);
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    options.no_mouse = mouse == yes_no[1];
    if (options.start && ui_prints_lines_only())
        return start_plainly(&options);
    if (!ui_run(&options, &error))
        return output_error(&error);
    return EXIT_DONE;
}

const struct command command_ui = {
    "ui", "[NET]", N_("The workbench: set runs up, watch and export them (the default)."),
    N_("The options fill the workbench's form. Keys are listed by ? inside it."), ui_command_run};
