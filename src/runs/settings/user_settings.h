/* user_settings.h: the settings of the user's configuration file
 * ($XDG_CONFIG_HOME/tinca/config.json) that commands need, too. ui/shared/preferences.h reads and
 * writes the whole file. */
#ifndef TINCA_RUNS_SETTINGS_USER_SETTINGS_H
#define TINCA_RUNS_SETTINGS_USER_SETTINGS_H

#include "base/error.h"

#include <stdbool.h>

/* Returns the path of the file, owned by the caller, or NULL with an error if neither HOME nor
 * XDG_CONFIG_HOME is set. */
char *user_settings_path(struct error *error);

/* Returns whether runs are shared with a group: the value of user_settings_set_shared_runs, or else
 * the file's member "shared-runs". False if the file lacks it or cannot be read. */
bool user_settings_runs_are_shared(void);

/* Sets, for this process, whether runs are shared. Overrides the file. */
void user_settings_set_shared_runs(bool shared);

#endif
