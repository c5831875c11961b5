/* tinca: the program. Finds the subcommand and runs it; without one it opens the workbench. */
#include "base/host/host_load.h"
#include "base/language.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"

#include <fcntl.h>
#include <stdio.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of --help. */
static const struct command *const commands[] = {
    &command_ui,      &command_train,   &command_resume,  &command_attach,   &command_sweep,
    &command_info,    &command_bench,   &command_eval,    &command_predict,  &command_runs,
    &command_measure, &command_compare, &command_advise,  &command_study,    &command_explain,
    &command_import,  &command_export,  &command_devices, &command_networks, &command_datasets};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_command(const struct command *command)
{
    output_print("  %-10s", command->name);
    output_print_wrapped(gettext(command->summary), 12, 12, OUTPUT_WIDTH);
}

static int print_help(void)
{
    output_print(
        _("Usage: tinca [COMMAND] [OPTION]... [ARGUMENT]...\n"
          "A terminal workbench for deep-learning experiments. Without a command it opens\n"
          "the workbench: choose a network, data, batch size and device, press r, watch.\n\n"
          "Commands (tinca COMMAND --help tells more):\n"));
    for (int i = 0; i < COMMANDS; i++)
        print_command(commands[i]);
    output_print(
        _("\nFor a first look: tinca train lenet --data digits --epochs 1\n"
          "Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted after saving.\n"));
    return EXIT_DONE;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int refuse_command(const char *name)
{
    struct error error;
    const char *best = NULL;
    size_t distance = 3;
    for (int i = 0; i < COMMANDS; i++)
        options_consider(name, commands[i]->name, &best, &distance);
    if (best)
        error_set(&error, ERROR_USAGE, name, "tinca --help lists the commands",
                  "there is no such command; did you mean %s?", best);
    else
        error_set(&error, ERROR_USAGE, name, "tinca --help lists the commands",
                  "there is no such command");
    return output_error(&error);
}

static int dispatch(int argc, char **argv)
{
    static char ui_name[] = "ui";
    const struct command *command = &command_ui;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return print_help();
    if (argc > 1 && argv[1][0] != '-') {
        command = find_command(argv[1]);
        if (!command)
            return refuse_command(argv[1]);
        return command->run(command, argc - 1, argv + 1);
    }
    if (argc < 1)
        return print_help();
    /* the name of the program stands where a subcommand's would */
    argv[0] = ui_name;
    return command->run(command, argc, argv);
}

/* What could not be written must not look like success: a full disk behind a redirection. */
static int close_output(int status)
{
    struct error error;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    error_set_errno(&error, "standard output", "check the disk, or where it is redirected to",
                    "cannot be written");
    output_error(&error);
    return status == EXIT_DONE ? EXIT_FAILED : status;
}

/* --language, before any message is made. Whether it is well said, options.c finds out later. */
static const char *asked_language(int argc, char **argv)
{
    static const char option[] = "--language";
    const size_t length = sizeof option - 1;
    const char *asked = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0 && i + 1 < argc)
            asked = argv[++i];
        else if (strncmp(argv[i], option, length) == 0 && argv[i][length] == '=')
            asked = argv[i] + length + 1;
    }
    for (size_t i = 0; asked && language_names[i]; i++)
        if (strcmp(language_names[i], asked) == 0)
            return language_names[i];
    return NULL;
}

/* malloc reserves 64 MiB of addresses for each thread. Where addresses are limited, all threads
 * share one arena; an iteration allocates nothing, so they hardly meet there. */
static void share_arena(void)
{
#ifdef __GLIBC__
    if (host_addresses_are_limited())
        mallopt(M_ARENA_MAX, 1);
#endif
}

/* A closed standard stream's number would be given to the next file that is opened, and what is
 * meant for standard output would go into that. */
static void occupy_standard_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* Pictures and other large blocks go back to the system when they are freed. The C library would
 * keep blocks of a size that was freed once, and the process would hold more than is forecast. The
 * system's zeroed pages cost 0.1 to 0.2 ms for a picture of 500x375 pixels, 2 to 4 % of the time
 * that its PNG takes to decode; smaller pictures and sets that lie in memory do not pay. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
#endif
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    return_large_blocks();
    share_arena();
    language_begin(asked_language(argc, argv));
    return close_output(dispatch(argc, argv));
}
