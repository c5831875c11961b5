/* launched_terminal.h: the terminal of a launcher such as mpirun, for the workbench of rank 0.
 *
 * A launcher connects the standard input and output of rank 0 with itself by pipes. If it runs in a
 * terminal of this host, that is also the controlling terminal of rank 0, /dev/tty. The workbench
 * draws there, and its keys still come by the pipe: the launcher, which has the foreground, reads
 * them from the terminal and passes them on. Two readers would take each other's keys.
 *
 * A launcher ends rank 0 by SIGKILL when another rank has died. So a small process, the guard,
 * waits for the end of rank 0, and restores the terminal if rank 0 has not done it. It leaves the
 * launcher's reach by its own process group, and ends with rank 0.
 */
#ifndef TINCA_UI_LAUNCHED_TERMINAL_H
#define TINCA_UI_LAUNCHED_TERMINAL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Begins as LAUNCHED_TERMINAL_NONE. */
struct launched_terminal {
    bool open;
    int tty;           /* /dev/tty; -1: standard input and output are a terminal already */
    int pipe;          /* to the guard; -1: there is none */
    pid_t guard;       /* its process */
    int saved;         /* standard output as it was; -1: it still is */
    bool ignores_stop; /* C-z is ignored */
    bool lost;         /* the screen has not been restored: the guard is to do it */
};

#define LAUNCHED_TERMINAL_NONE                                                                     \
    {                                                                                              \
        .tty = -1, .pipe = -1, .saved = -1                                                         \
    }

/* Finds the terminal, and starts the guard, but changes nothing yet. Call it before MPI is
 * initialised. Returns false with ERROR_USAGE if there is no terminal that can be used; `launcher`
 * is its name in the message. */
bool launched_terminal_open(struct launched_terminal *terminal, const char *launcher,
                            struct error *error);

/* Makes it standard output, for terminal_open. C-z is ignored from now on: a rank that is stopped
 * would end all others. Returns false with an error if no keys can come. */
bool launched_terminal_enter(struct launched_terminal *terminal, struct error *error);

/* Tells the guard which bytes restore the screen. */
void launched_terminal_guard(const struct launched_terminal *terminal, const char *restore,
                             size_t length);

/* Ends the guard. The screen has been restored, unless it is lost. Does nothing for a terminal that
 * is not open. */
void launched_terminal_close(struct launched_terminal *terminal);

#endif
