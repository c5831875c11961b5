/* stop_signal.h: the signals of a command without the workbench; ui/terminal/signals.h says what
 * each does. A command polls these functions several times a second. */
#ifndef TINCA_CLI_STOP_SIGNAL_H
#define TINCA_CLI_STOP_SIGNAL_H

#include <stdbool.h>

/* Installs the signal handlers. */
void stop_signal_catch(void);

/* Installs the signal handlers of a command that trains: it also goes on when nobody reads what it
 * prints, as after `| head`. A write to such a pipe fails, and nothing else. */
void stop_signal_catch_for_runs(void);

/* Returns whether a signal has asked to stop. If the terminal has hung up, the command goes on:
 * what it would print there is dropped from now on. */
bool stop_signal_came(void);

/* Returns whether a signal has asked to stop or the terminal has hung up: for commands that would
 * not end by themselves. */
bool stop_signal_or_hang_up_came(void);

#endif
