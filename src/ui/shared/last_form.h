/* last_form.h: the form as it was left, in $XDG_STATE_HOME/tinca/form.json: what the user has set,
 * and the preset; the rest follows from these. */
#ifndef TINCA_UI_SHARED_LAST_FORM_H
#define TINCA_UI_SHARED_LAST_FORM_H

#include "session/config/config.h"

/* Fills a configuration with the defaults and what the form held when it was last left; false when
 * nothing was kept. A setting that is not valid any more is left out, and *skipped tells of the
 * first one (kind ERROR_NONE: of none). */
bool last_form_read(struct run_config *config, struct error *skipped);

/* Keeps what is set. */
bool last_form_write(const struct run_config *config, struct error *error);

#endif
