/* stop_signal.h: SIGINT, SIGTERM and SIGHUP, unless that is ignored, as a wish to stop. The first
 * one asks, so that what is on can be saved; a second SIGINT ends the program at once, with the
 * status for "interrupted". */
#ifndef TINCA_CLI_STOP_SIGNAL_H
#define TINCA_CLI_STOP_SIGNAL_H

#include <stdbool.h>

/* From now on the signals ask. */
void stop_signal_catch(void);

/* Whether one has come. */
bool stop_signal_came(void);

#endif
