/* ui_options.h: what the command line passes to the workbench. */
#ifndef TINCA_UI_SHARED_UI_OPTIONS_H
#define TINCA_UI_SHARED_UI_OPTIONS_H

#include "base/error.h"
#include "runs/settings/config.h"
#include "training/run_start.h"
#include "ui/shared/preferences.h"

#include <stdbool.h>

struct ui_options {
    struct run_config config;              /* the form's first configuration */
    bool start;                            /* start a run with it and show that run */
    const struct preferences *preferences; /* in force; NULL: the defaults */
    const struct preferences *saved;       /* those of the file; NULL: the defaults */
    struct error broken;    /* what is wrong with that file, which is then not written; or none */
    struct error skipped;   /* the first setting of the saved form that was left out; or none */
    bool remember;          /* save the form and the axes of the curves for the next session */
    struct run_options run; /* where the first run is stored; later runs use the defaults. Its
                               cluster trains all runs. */
    struct launched_terminal *launched; /* the terminal to use (launched_terminal.h); NULL: ours */
    const char *attach;                 /* the folder of a run to show first; NULL: none */
    const char *export_path; /* the path that the export dialog proposes; NULL: one with the date */
};

#endif
