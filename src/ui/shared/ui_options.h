/* ui_options.h: what the command line asks of the workbench. */
#ifndef TINCA_UI_SHARED_UI_OPTIONS_H
#define TINCA_UI_SHARED_UI_OPTIONS_H

#include "base/error.h"
#include "session/config/config.h"
#include "session/run/run_start.h"
#include "ui/shared/preferences.h"

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

#endif
