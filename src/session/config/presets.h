/* presets.h: the studies' protocols as values of fields. Internal to session/. */
#ifndef TINCA_SESSION_CONFIG_PRESETS_H
#define TINCA_SESSION_CONFIG_PRESETS_H

#include "session/config/config.h"

/* False, in words, for a preset that does not exist or cannot be used yet. */
bool presets_check(const char *name, struct error *error);

/* Fills config->preset's values into the fields that nobody asked for. */
void presets_fill(struct run_config *config);

/* In config.c. config_set without marking the field as given or what follows from it. */
bool config_fill(struct run_config *config, const char *key, const char *value,
                 struct error *error);

#endif
