/* The commands by name. main.c has the table and hands it over, so that help and completion, which
 * are in the table, need not refer to it. */
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include "base/language.h"

#include <string.h>

static const struct command *const *commands; /* main.c's, NULL-terminated */

void command_begin(const struct command *const *table)
{
    commands = table;
}

const struct command *const *command_all(void)
{
    return commands;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

int command_refuse(const char *name)
{
    struct error error;
    const char *best = NULL;
    size_t distance = 3;
    for (size_t i = 0; commands[i]; i++)
        options_consider(name, commands[i]->name, &best, &distance);
    if (best)
        error_set(&error, ERROR_USAGE, name, "tinca --help lists the commands",
                  "there is no such command; did you mean %s?", best);
    else
        error_set(&error, ERROR_USAGE, name, "tinca --help lists the commands",
                  "there is no such command");
    return output_error(&error);
}

/* Prints the name and the summary of each command, in two columns. */
static void print_commands(void)
{
    size_t longest = 0;
    for (size_t i = 0; commands[i]; i++)
        if (strlen(commands[i]->name) > longest)
            longest = strlen(commands[i]->name);
    for (size_t i = 0; commands[i]; i++) {
        output_print("  %-*s  ", (int)longest, commands[i]->name);
        output_print_wrapped(gettext(commands[i]->summary), longest + 4, longest + 4, OUTPUT_WIDTH);
    }
}

int command_print_all(void)
{
    output_print(_(
        "Usage: tinca [COMMAND] [OPTION]... [ARGUMENT]...\nA terminal workbench for deep-learning "
        "experiments. Without a command it opens\nthe workbench: choose a network, data, batch "
        "size and device, press r, watch.\n\nCommands (for details: tinca help COMMAND):\n"));
    print_commands();
    output_print(
        _("\nFor a first look: tinca train lenet --data digits --epochs 1\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted after saving.\n"));
    return EXIT_DONE;
}
