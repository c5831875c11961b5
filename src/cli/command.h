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

extern const struct command command_ui, command_train, command_info, command_bench, command_eval,
    command_predict, command_runs, command_export, command_measure, command_compare, command_advise,
    command_study, command_sweep, command_resume, command_attach, command_explain, command_import,
    command_devices, command_networks, command_datasets;

#endif
