/* tinca help: lists the commands, or shows the manual page of one. */
#include "cli/command.h"
#include "cli/options.h"

#include "base/language.h"
#include "base/program_file.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- manual pages --- */

/* Writes the path of a page among the sources of the program, which are beside it, or above it if
 * it was built in a folder there. Returns whether the page exists; otherwise the program is
 * installed. */
static bool find_source_page(const char *page, char *path, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "../man/%s.1", page);
    return program_file_beside(name + 3, path, size) || program_file_beside(name, path, size);
}

/* Returns whether man finds an installed page. It prints nothing. */
static bool page_is_installed(char *page)
{
    static char man[] = "man", where[] = "-w";
    char *words[] = {man, where, page, NULL};
    posix_spawn_file_actions_t actions;
    pid_t process;
    int status = 1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    const bool started =
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawnp(&process, man, &actions, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started && waitpid(process, &status, 0) == process && status == 0;
}

/* Replaces this process by man, which shows the page of the command. Returns if there is no page,
 * or no man. */
static void show_page(const struct command *command)
{
    static char man[] = "man", local[] = "-l";
    char page[48], path[PATH_MAX];
    snprintf(page, sizeof page, "tinca-%s", command->name);
    if (find_source_page(page, path, sizeof path))
        execvp(man, (char *[]){man, local, path, NULL});
    else if (page_is_installed(page))
        execvp(man, (char *[]){man, page, NULL});
}

enum { COMMANDS_MAX = 100 };

/* Fills the names of the commands, which completion offers as the first operand. */
static void name_commands(const char *names[COMMANDS_MAX + 1])
{
    const struct command *const *commands = command_all();
    for (size_t i = 0; commands[i] && i < COMMANDS_MAX; i++)
        names[i] = commands[i]->name;
}

static int help_run(const struct command *command, int argc, char **argv)
{
    const char *names[COMMANDS_MAX + 1] = {NULL};
    static char option[] = "--help";
    struct operands operands;
    int status;
    name_commands(names);
    const struct option_row rows[] = {{0}};
    const struct option_set set = {.rows = rows, .operands_max = 1, .operand_choices = names};
    if (!options_read(command, &set, argc, argv, &operands, &status))
        return status;
    if (operands.count == 0)
        return command_print_all();
    const struct command *asked = command_find(operands.values[0]);
    if (!asked)
        return command_refuse(operands.values[0]);
    if (isatty(STDOUT_FILENO))
        show_page(asked);
    return asked->run(asked, 2, (char *[]){operands.values[0], option, NULL});
}

const struct command command_help = {
    .name = "help",
    .operands = "[COMMAND]",
    .in_launcher = true,
    .summary = N_("Show the manual page of a command."),
    .details = N_("Without COMMAND it lists the commands. Where standard output is no terminal, or "
                  "man or the page is missing, it prints what tinca COMMAND --help prints."),
    .run = help_run,
};
