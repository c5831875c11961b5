/* workbench.h: what the commands share that open the workbench: its settings as options. */
#ifndef TINCA_CLI_WORKBENCH_H
#define TINCA_CLI_WORKBENCH_H

#include "cli/options.h"
#include "ui/ui.h"

#include <stdbool.h>

struct workbench { /* starts as {0}; must outlive the workbench */
    struct preferences preferences, saved;
    const char *given[PREFERENCE_COUNT]; /* on the command line; NULL: not */
};

enum { WORKBENCH_ROWS = PREFERENCE_COUNT + 1 };

/* An option for each setting that is not for every command, and the end of the table. */
void workbench_rows(struct workbench *workbench, struct option_row *rows);

/* The configuration file, and over it the command line, become part of `options`. */
bool workbench_take(struct workbench *workbench, struct ui_options *options, struct error *error);

#endif
