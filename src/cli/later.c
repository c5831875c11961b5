/* Subcommands that a later version brings. They are named here so that they answer in words. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"

#include <stdio.h>
#include <string.h>

static int later_run(const struct command *command, int argc, char **argv)
{
    struct error error;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            printf(_("Usage: tinca %s\n%s\nThis command comes with a later version.\n"),
                   command->name, command->summary);
            return EXIT_DONE;
        }
    error_set(&error, ERROR_USAGE, command->name, command->details,
              "this command comes with a later version of tinca");
    return output_error(&error);
}

const struct command later_commands[] = {
    {"attach", "", N_("Watch a run that another process computes."),
     N_("until then look at it with tinca runs"), later_run},
};
const int later_command_count = sizeof later_commands / sizeof *later_commands;
