/* options.h: a subcommand's options as a table: parsing, and the text of --help.
 *
 * A subcommand's own options are rows that point at its variables; the options that describe an
 * experiment come from session's table of fields, so that --help, the form of the workbench and
 * config.json cannot disagree. --help and --version are understood everywhere, and --language.
 */
#ifndef TINCA_CLI_OPTIONS_H
#define TINCA_CLI_OPTIONS_H

#include "cli/command.h"
#include "session/config/config.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_SWITCH, /* value: bool */
    OPTION_TEXT,   /* value: const char * */
    OPTION_COUNT,  /* value: size_t, within low and high */
    OPTION_CHOICE, /* value: size_t, the number of the choice */
    OPTION_NAME,   /* value: const char *, one of the choices; NULL unless given */
    OPTION_FLAG, /* value: const char *, "yes" (also without a value) or "no"; NULL unless given */
    OPTION_LIST, /* value: struct option_list, a text each time that it is given */
};

enum { OPTION_LIST_MAX = 32 };
struct option_list {
    const char *values[OPTION_LIST_MAX];
    size_t count;
};

struct option_row {
    const char *name;     /* "json": --json; NULL ends a table */
    char letter;          /* 'q': -q; 0: none */
    const char *argument; /* "FILE"; NULL for a switch */
    const char *help;     /* one sentence */
    enum option_kind kind;
    void *value;
    size_t low, high;           /* OPTION_COUNT */
    const char *const *choices; /* OPTION_CHOICE and _NAME: NULL-terminated */
};

struct option_set {
    const struct option_row *rows; /* never NULL */
    struct run_config *config;     /* filled with defaults by the caller; NULL: no fields */
    const char *const *fields;     /* keys offered, NULL-terminated; NULL: all but the network */
    size_t operands_min, operands_max;
    bool network_operand; /* operand 0, where there is one, is config's network */
};

struct operands {
    char **values; /* inside argv */
    size_t count;
};

/* Reads the command line. False when the command is over with *status: its help was printed, or
 * what is wrong was said on standard error. */
bool options_read(const struct command *command, const struct option_set *set, int argc,
                  char **argv, struct operands *operands, int *status);

/* The --language that was given; NULL: none. */
const char *options_language(void);

void options_print_version(void);

/* The candidate that `word` is a likely misspelling of, or NULL: the best so far is in *best and
 * *distance (to begin with: NULL and 3). */
void options_consider(const char *word, const char *candidate, const char **best, size_t *distance);

#endif
