/* stop_signal.h: SIGINT, SIGTERM and SIGHUP (unless it is ignored) as a request to stop. The first
 * one sets a flag, so that a run can finish its iteration and save; a second SIGINT ends the
 * program at once with the exit status for "interrupted". */
#ifndef TINCA_CLI_STOP_SIGNAL_H
#define TINCA_CLI_STOP_SIGNAL_H

#include <stdbool.h>

/* Installs the signal handlers. */
void stop_signal_catch(void);

/* Lets SIGINT end the program at once with the exit status for "interrupted": for commands that
 * work for minutes without a point at which they could stop, and that have nothing to save. */
void stop_signal_exit(void);

/* Returns whether a signal has asked to stop. */
bool stop_signal_came(void);

#endif
