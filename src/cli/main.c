/* The program: finds the subcommand and runs it; without one it opens the workbench. Before that it
 * prepares the process: standard streams, memory allocation and the language of messages. */
#include "base/host/host_load.h"
#include "base/host/spawn.h"
#include "base/language.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/processes.h"
#include "cli/sweep.h"
#include "engine/devices/blas.h"
#include "studies/sweep/sweep_step.h"
#include "ui/terminal/signals.h"

#include <fcntl.h>
#include <stdio.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
#define SUBCOMMAND(name) &command_##name,
#include "cli/subcommands.inc"
#undef SUBCOMMAND
    NULL};

/* Returns whether the arguments ask for help or the version only. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 ||
            strcmp(argv[i], "--version") == 0)
            return true;
    return false;
}

static int dispatch(int argc, char **argv)
{
    static char ui_name[] = "ui";
    const struct command *command = &command_ui;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return command_print_all();
    if (argc > 1 && argv[1][0] != '-') {
        command = command_find(argv[1]);
        if (!command)
            return command_refuse(argv[1]);
        int status;
        if (!command->in_launcher && !asks_for_help(argc, argv) &&
            !processes_alone(argv[1], &status))
            return status;
        return command->run(command, argc - 1, argv + 1);
    }
    if (argc < 1)
        return command_print_all();
    /* options follow the program's name: the workbench's */
    argv[0] = ui_name;
    return command->run(command, argc, argv);
}

/* Returns the exit status, which is a failure if standard output could not be written: its disk may
 * be full. */
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

/* Returns the value of --language if it is a known language, otherwise NULL. Messages need it
 * before options.c reads, and checks, the options. */
static const char *requested_language(int argc, char **argv)
{
    static const char option[] = "--language";
    const size_t length = sizeof option - 1;
    const char *requested = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0 && i + 1 < argc)
            requested = argv[++i];
        else if (strncmp(argv[i], option, length) == 0 && argv[i][length] == '=')
            requested = argv[i] + length + 1;
    }
    for (size_t i = 0; requested && language_names[i]; i++)
        if (strcmp(language_names[i], requested) == 0)
            return language_names[i];
    return NULL;
}

/* Makes all threads share one malloc arena if addresses are limited: an arena for each thread would
 * reserve 64 MiB of addresses. An iteration allocates nothing, so there is no contention. */
static void share_arena(void)
{
#ifdef __GLIBC__
    if (host_addresses_are_limited())
        mallopt(M_ARENA_MAX, 1);
#endif
}

/* Opens /dev/null for each closed standard stream. Otherwise the next file that is opened would get
 * the stream's number, and output for the terminal would be written into that file. */
static void occupy_standard_streams(void)
{
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* Makes free() return blocks of 256 KiB and more to the system, so that the process holds no more
 * memory than is forecast; by default the C library raises this threshold when such a block is
 * freed. Zeroed pages cost 0.1 to 0.2 ms for a picture of 500x375 pixels, 2 to 4 % of the time that
 * its PNG takes to decode; smaller pictures and data sets in memory cost nothing. */
static void return_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 18);
#endif
}

int main(int argc, char **argv)
{
    blas_core_choose(argv);
    signals_begin();
    spawn_follow_parent();
    occupy_standard_streams();
    return_large_blocks();
    share_arena();
    language_begin(requested_language(argc, argv));
    command_begin(commands);
    if (argc == 3 && sweep_step_is_child())
        return close_output(sweep_jobs_apply_step(argv[2]));
    return close_output(dispatch(argc, argv));
}
