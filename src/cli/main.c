/* tinca: the program. Finds the subcommand and runs it; without one it opens the workbench. */
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
#include <sys/mman.h>
#include <sys/resource.h>
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

static bool is_limited(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* malloc reserves 64 MiB of addresses for each thread. Where addresses are limited, all threads
 * share one arena; an iteration allocates nothing, so they hardly meet there. */
static void share_arena(void)
{
#ifdef __GLIBC__
    if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA))
        mallopt(M_ARENA_MAX, 1);
#endif
}

/* --- before OpenBLAS --- */

static const char blas_threads[] = "OPENBLAS_NUM_THREADS=";

/* Begins once more with one thread for OpenBLAS, if this is not how it began. */
static void leave_blas_threads(char **argv, char **environment)
{
    char path[4096], setting[sizeof blas_threads + 1];
    size_t count = 0;
    snprintf(setting, sizeof setting, "%s1", blas_threads);
    for (; environment[count]; count++)
        if (strcmp(environment[count], setting) == 0)
            return;
    char *changed[count + 2];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environment[i], blas_threads, sizeof blas_threads - 1) != 0)
            changed[kept++] = environment[i];
    changed[kept++] = setting;
    changed[kept] = NULL;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    execve(path, argv, changed); /* returns when it cannot: then it goes on with them */
}

static void refuse_few_addresses(void)
{
    static const char refusal[] =
        "tinca: memory: OpenBLAS needs 128 MiB of addresses and cannot have them: raise the limit "
        "(ulimit -v, ulimit -d)\n";
    const size_t wanted = (128u << 20) + (8u << 20); /* and what libraries take to begin */
    void *part = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED) {
        const ssize_t unused = write(STDERR_FILENO, refusal, sizeof refusal - 1);
        (void)unused;
        _exit(EXIT_FAILURE);
    }
    munmap(part, wanted);
}

/* Before main OpenBLAS starts a thread a core, and newer versions (0.3.29) map 128 MiB for each at
 * once, for ever when they cannot. The threads that compute are ours, so where addresses are
 * limited (ulimit -v, -d) it does without, and what is left for a run is known. This comes before
 * the libraries begin: also before the C library has an environment of its own. */
static void prepare_blas(int argc, char **argv, char **environment)
{
    (void)argc;
    if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA))
        return;
    leave_blas_threads(argv, environment);
    refuse_few_addresses();
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = prepare_blas;

/* --- the program --- */

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
