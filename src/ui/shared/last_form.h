/* last_form.h: saves the configuration form in $XDG_STATE_HOME/tinca/form.json, so that the next
 * session begins with it. The file holds the settings that the user has changed, and the preset. */
#ifndef TINCA_UI_SHARED_LAST_FORM_H
#define TINCA_UI_SHARED_LAST_FORM_H

#include "runs/settings/config.h"

/* Fills the configuration with the defaults and the saved settings. Returns false if there is no
 * saved form or it cannot be read. Settings that are no longer valid are left out; *skipped
 * describes the first of them, or why the file cannot be read (kind ERROR_NONE: neither). */
bool last_form_read(struct run_config *config, struct error *skipped);

/* Saves the preset and the settings that the user has given. */
bool last_form_write(const struct run_config *config, struct error *error);

#endif
