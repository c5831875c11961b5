/* ui.h: the workbench: the terminal program in which runs are set up and watched.
 *
 * The only room that knows ncurses. It reads configurations, forecasts, snapshots and series of
 * session/ and sends commands; a run never waits for it. One thread; not reentrant.
 */
#ifndef TINCA_UI_UI_H
#define TINCA_UI_UI_H

#include "base/error.h"
#include "session/config/config.h"
#include "session/run/run_start.h"
#include "ui/model/preferences.h"

#include <stdbool.h>

struct ui_options {
    struct run_config config;              /* what the form shows first */
    bool start;                            /* run it at once, and show that run */
    const struct preferences *preferences; /* in force; NULL: the defaults */
    const struct preferences *saved; /* what the configuration file holds; NULL: the defaults */
    struct error broken;    /* what is wrong with that file, which then is not written; else none */
    struct error skipped;   /* what of the last form was left out; else none */
    bool remember;          /* keep the form and the last choices of the curves for the next time */
    struct run_options run; /* where the first run goes; the others get their own places */
    const char *attach;     /* the folder of a run that is shown first; NULL: none */
    const char *export_path; /* what the export dialog proposes; NULL: a name with the date */
};

/* The accepted names, NULL-terminated. */
extern const char *const ui_colours[]; /* default, light, mono, colour-blind */
extern const char *const ui_symbols[]; /* braille, block, ascii */

/* Shows the workbench until the user quits; every run is over and saved when it returns, and the
 * terminal is as it was. False: there is no terminal, or not one that can do this (ERROR_USAGE,
 * with what to do instead); a signal asked to stop (ERROR_INTERRUPTED: runs were saved). When the
 * terminal goes away (SIGHUP) the runs carry on to their ends first. */
bool ui_run(const struct ui_options *options, struct error *error);

/* Whether this is a terminal that can print lines but not show the workbench (TERM=dumb). */
bool ui_prints_lines_only(void);

#endif
