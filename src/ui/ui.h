/* ui.h: the workbench: the terminal program in which runs are set up and watched.
 *
 * The only room that knows ncurses. It reads configurations, forecasts, snapshots and series of
 * session/ and sends commands; a run never waits for it. One thread; not reentrant.
 */
#ifndef TINCA_UI_UI_H
#define TINCA_UI_UI_H

#include "base/error.h"
#include "ui/shared/ui_options.h"

#include <stdbool.h>

/* Shows the workbench until the user quits; every run is over and saved when it returns, and the
 * terminal is as it was. False: there is no terminal, or not one that can do this (ERROR_USAGE,
 * with what to do instead); a signal asked to stop (ERROR_INTERRUPTED: runs were saved). When the
 * terminal goes away (SIGHUP) the runs carry on to their ends first. */
bool ui_run(const struct ui_options *options, struct error *error);

/* Whether this is a terminal that can print lines but not show the workbench (TERM=dumb). */
bool ui_prints_lines_only(void);

#endif
