/* background_command.h: this program with another command line, in a process without a terminal
 * that outlives the workbench. */
#ifndef TINCA_UI_SHARED_BACKGROUND_COMMAND_H
#define TINCA_UI_SHARED_BACKGROUND_COMMAND_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct background_command { /* starts as {0} */
    char **words;           /* ends with NULL once there is a word */
    size_t count, capacity;
    bool failed;    /* memory was short; background_command_start reports it */
    pid_t process;  /* 0: not started */
    FILE *messages; /* its standard error, a file without a name; NULL: not started */
};

/* Adds a word to the command line; the first one is the program's name. If memory is short, the
 * start fails. */
void background_command_add(struct background_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Starts the process in a session of its own. Returns false with an error. */
bool background_command_start(struct background_command *command, struct error *error);

/* Returns whether the process has ended. */
bool background_command_has_ended(const struct background_command *command);

/* Sets the error to the first line that the process has printed. Returns false. */
bool background_command_report(const struct background_command *command, struct error *error);

/* Frees everything but the process, and sets the command to {0}. */
void background_command_free(struct background_command *command);

#endif
