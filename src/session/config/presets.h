/* presets.h: the hyperparameters of the published studies, as values of configuration fields.
 * Internal to session/. */
#ifndef TINCA_SESSION_CONFIG_PRESETS_H
#define TINCA_SESSION_CONFIG_PRESETS_H

#include "session/config/config.h"

/* Returns false with an error if there is no such preset. */
bool presets_check(const char *name, struct error *error);

/* Sets every field that config_set has not set to the value of config->preset. */
void presets_fill(struct run_config *config);

#endif
