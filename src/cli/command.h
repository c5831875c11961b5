/* command.h: what a subcommand is. One file a subcommand; main.c dispatches. */
#ifndef TINCA_CLI_COMMAND_H
#define TINCA_CLI_COMMAND_H

struct command {
    const char *name;     /* "train" */
    const char *operands; /* "NET", for usage texts; "" when there are none */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs for --help, separated by newlines; "" when there are none */
    /* argv[0] is the subcommand's name. Returns the exit status. */
    int (*run)(const struct command *command, int argc, char **argv);
};

/* Exit statuses, as the manual page promises them. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

#define SUBCOMMAND(name) extern const struct command command_##name;
#include "cli/subcommands.inc"
#undef SUBCOMMAND

#endif
