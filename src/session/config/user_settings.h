/* user_settings.h: what the user's configuration file, $XDG_CONFIG_HOME/tinca/config.json, says
 * besides how the workbench is liked (ui/shared/preferences.h reads and writes all of it). */
#ifndef TINCA_SESSION_CONFIG_USER_SETTINGS_H
#define TINCA_SESSION_CONFIG_USER_SETTINGS_H

#include "base/error.h"

#include <stdbool.h>

/* The file's path, owned by the caller; NULL when neither HOME nor XDG_CONFIG_HOME is set. */
char *user_settings_path(struct error *error);

/* Whether runs are shared with a group: what user_settings_share_runs said, else the file's
 * "shared-runs"; false where the file does not say so, or cannot be read. */
bool user_settings_shared_runs(void);

/* Says for this process whether runs are shared, whatever the file says. */
void user_settings_share_runs(bool shared);

#endif
