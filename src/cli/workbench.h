/* workbench.h: the settings of the workbench as options, for the commands that open it (ui,
 * attach). */
#ifndef TINCA_CLI_WORKBENCH_H
#define TINCA_CLI_WORKBENCH_H

#include "cli/options.h"
#include "ui/ui.h"

#include <stdbool.h>

/* Begin with {0}. It must live until the workbench is closed. */
struct workbench {
    struct preferences preferences, saved;
    const char *given[PREFERENCE_COUNT]; /* on the command line; NULL: not given */
};

enum { WORKBENCH_ROWS = PREFERENCE_COUNT + 1 };

/* Writes an option for each setting that is not common to all commands, and the end of the table.
 */
void workbench_rows(struct workbench *workbench, struct option_row *rows);

/* Reads the configuration file, puts the options of the command line over it and stores the result
 * in `options`. Returns false with an error if an option is wrong. */
bool workbench_read_options(struct workbench *workbench, struct ui_options *options,
                            struct error *error);

#endif
