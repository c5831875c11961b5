/* presets.h: the protocols of the studies, as values of fields. Internal to session/. */
#ifndef TINCA_SESSION_CONFIG_PRESETS_H
#define TINCA_SESSION_CONFIG_PRESETS_H

#include "session/config/config.h"

/* Returns false with an error if there is no such preset. */
bool presets_check(const char *name, struct error *error);

/* Fills the values of config->preset into the fields that config_set has not set. */
void presets_fill(struct run_config *config);

/* Sets a field like config_set, but does not mark it as given and updates no other field. Defined
 * in config.c. */
bool config_fill(struct run_config *config, const char *key, const char *value,
                 struct error *error);

#endif
