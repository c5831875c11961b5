/* command.h: the interface of a subcommand. Each has a file of its own, which defines
 * `command_NAME`, and a line in subcommands.inc; main.c finds it and calls `run`. */
#ifndef TINCA_CLI_COMMAND_H
#define TINCA_CLI_COMMAND_H

#include <stdbool.h>

struct command {
    const char *name;     /* "train" */
    const char *operands; /* "NET", for the usage line; "" if it takes none */
    const char *summary;  /* one line */
    const char *details;  /* paragraphs of --help, separated by newlines; may be "" */
    bool in_launcher;     /* it can be started in several processes, which share its work */
    /* argv[0] is the subcommand's name. Returns the exit status. */
    int (*run)(const struct command *command, int argc, char **argv);
};

/* The exit statuses that the manual page documents. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

#define SUBCOMMAND(name) extern const struct command command_##name;
#include "cli/subcommands.inc"
#undef SUBCOMMAND

/* Receives the table of all commands, in the order of tinca --help, NULL-terminated. Called once,
 * first. */
void command_begin(const struct command *const *table);

/* Returns that table. */
const struct command *const *command_all(void);

/* Returns the command of this name, or NULL. */
const struct command *command_find(const char *name);

/* Prints that there is no such command, with the closest name. Returns the exit status. */
int command_refuse(const char *name);

/* Prints what tinca --help prints: the usage and all commands. Returns the exit status. */
int command_print_all(void);

#endif
