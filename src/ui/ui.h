/* ui.h: the workbench, the terminal program in which runs are set up and watched.
 *
 * Only src/ui uses ncurses. The workbench reads configurations, forecasts, snapshots and series of
 * the folders below and sends commands to runs; a run never waits for it. One thread; not
 * reentrant.
 */
#ifndef TINCA_UI_UI_H
#define TINCA_UI_UI_H

#include "base/error.h"
#include "ui/app/screen.h"
#include "ui/shared/ui_options.h"

#include <stdbool.h>

/* All screens, by enum screen_id. */
extern const struct screen *const screens[SCREEN_COUNT];

/* Shows the workbench until the user quits. When it returns, every run has ended and is saved, and
 * the terminal is restored. Returns false with ERROR_USAGE if there is no suitable terminal (the
 * error says what to do instead), or with ERROR_INTERRUPTED if a signal ended it; the runs are
 * saved then, too. If the terminal is closed (SIGHUP), it returns only after the runs have ended.
 */
bool ui_run(const struct ui_options *options, struct error *error);

/* Returns whether this is a terminal that can print lines but not show the workbench (TERM=dumb).
 */
bool ui_prints_lines_only(void);

#endif
