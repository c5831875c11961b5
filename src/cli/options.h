/* options.h: reads the options of a subcommand from a table, and prints --help from the same table.
 *
 * A subcommand describes its options as rows that point at its variables. The options that describe
 * an experiment come from the configuration's table of fields, so that --help, the form of the
 * workbench and config.json agree. Every command also has --help, --version and --language. Not
 * thread safe.
 */
#ifndef TINCA_CLI_OPTIONS_H
#define TINCA_CLI_OPTIONS_H

#include "cli/command.h"
#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
    OPTION_SWITCH, /* value: bool */
    OPTION_TEXT,   /* value: const char * */
    OPTION_COUNT,  /* value: size_t, within low and high */
    OPTION_CHOICE, /* value: size_t, the number of the choice */
    OPTION_NAME,   /* value: const char *, one of the choices; NULL unless given */
    OPTION_FLAG, /* value: const char *, "yes" (also without a value) or "no"; NULL unless given */
    OPTION_LIST, /* value: struct option_list, one text for each time it is given */
};

enum { OPTION_LIST_MAX = 32 };

/* The texts belong to argv. */
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
    /* OPTION_CHOICE of formats, or OPTION_SWITCH of one, as --json: the name of the output, NULL if
     * there is none. If the option is not given, the ending of that name chooses the format. */
    const char *const *output;
};

/* Rows of the kinds, for tables of options. */
#define SWITCH_ROW(name_, help_, value_)                                                           \
    {                                                                                              \
        .name = name_, .help = help_, .kind = OPTION_SWITCH, .value = value_                       \
    }
#define TEXT_ROW(name_, argument_, help_, value_)                                                  \
    {                                                                                              \
        .name = name_, .argument = argument_, .help = help_, .kind = OPTION_TEXT, .value = value_  \
    }
#define LETTER_SWITCH_ROW(name_, letter_, help_, value_)                                           \
    {                                                                                              \
        .name = name_, .letter = letter_, .help = help_, .kind = OPTION_SWITCH, .value = value_    \
    }
#define LETTER_TEXT_ROW(name_, letter_, argument_, help_, value_)                                  \
    {                                                                                              \
        .name = name_, .letter = letter_, .argument = argument_, .help = help_,                    \
        .kind = OPTION_TEXT, .value = value_                                                       \
    }
#define LIST_ROW(name_, argument_, help_, value_)                                                  \
    {                                                                                              \
        .name = name_, .argument = argument_, .help = help_, .kind = OPTION_LIST, .value = value_  \
    }
#define COUNT_ROW(name_, argument_, help_, value_, low_, high_)                                    \
    {                                                                                              \
        .name = name_, .argument = argument_, .help = help_, .kind = OPTION_COUNT,                 \
        .value = value_, .low = low_, .high = high_                                                \
    }
#define NAME_ROW(name_, argument_, help_, value_, choices_)                                        \
    {                                                                                              \
        .name = name_, .argument = argument_, .help = help_, .kind = OPTION_NAME, .value = value_, \
        .choices = choices_                                                                        \
    }
#define CHOICE_ROW(name_, argument_, help_, value_, choices_)                                      \
    {                                                                                              \
        .name = name_, .argument = argument_, .help = help_, .kind = OPTION_CHOICE,                \
        .value = value_, .choices = choices_                                                       \
    }

struct option_set {
    const struct option_row *rows; /* never NULL */
    struct run_config *config;     /* filled with defaults by the caller; NULL: no fields */
    /* Its options are the settings but the network that have a meaning in the task, and single ones
     * by key, NULL-terminated. */
    enum config_task task; /* 0: none */
    unsigned classes;      /* only of these, of enum config_class; 0: of all */
    const char *const *fields;
    size_t operands_min, operands_max;
    const char *unused;   /* the key of a field without which the command does: it has no default */
    bool network_operand; /* the first operand, if given, is the configuration's network */
    const char *const *operand_choices; /* words that the first operand may be, NULL-terminated */
    /* The command opens a device although it has no field "device". Such commands have the option
     * --tune, which calls tuned_device_measure_again. */
    bool opens_device;
    /* Its data is the training data of a run, of which validate= holds out a share, although it has
     * no field "validate". */
    bool data_divides;
};

struct operands {
    char **values; /* inside argv */
    size_t count;
};

/* Reads the command line into the variables of the set. Returns false when the command must end
 * with *status: --help or --version was printed, or an error on standard error. */
bool options_read(const struct command *command, const struct option_set *set, int argc,
                  char **argv, struct operands *operands, int *status);

/* An option as the completion of a shell needs it. */
struct option_entry {
    const char *name;                 /* "batch": --batch */
    char letter;                      /* 0: none */
    const char *argument;             /* NULL: it takes no value */
    bool argument_optional;           /* then only --name=VALUE has one */
    bool repeats;                     /* it may be given several times */
    const char *help;                 /* not translated */
    const char *const *choices;       /* NULL-terminated; NULL: other values */
    const struct config_field *field; /* NULL: not a field of the configuration */
};

/* Receives the options of a command in the order of --help. They are valid during the call. */
typedef void options_listener(const struct command *command, const struct option_set *set,
                              const struct option_entry *entries, size_t count, void *context);

/* Makes the next options_read, whatever its command line, pass its options to `listener` instead,
 * and return false with EXIT_DONE in *status. */
void options_listen(options_listener *listener, void *context);

/* Returns whether --tune was given. */
bool options_tune(void);

/* Returns the value of --language, NULL if it was not given. */
const char *options_language(void);

/* Looks for the candidate that `word` misspells: replaces *best and *distance if `candidate` is
 * closer to the word than *distance. Start with NULL and 3; NULL remains if no candidate is close.
 */
void options_consider(const char *word, const char *candidate, const char **best, size_t *distance);

#endif
