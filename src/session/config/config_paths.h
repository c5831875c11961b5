/* config_paths.h: the paths in a configuration, made independent of the current folder. */
#ifndef TINCA_SESSION_CONFIG_CONFIG_PATHS_H
#define TINCA_SESSION_CONFIG_CONFIG_PATHS_H

#include "session/config/config.h"

/* Makes the paths of the network file and of the data sets (KIND:DIR) absolute, below the current
 * folder; a leading ~/ of a data set becomes the home folder. Names of networks and generated sets
 * stay. False: the current folder is gone, or a path becomes too long; *config is not changed. */
bool config_make_absolute(struct run_config *config, struct error *error);

/* The same of a single value of the setting `key`, into `text`. Values of other settings than
 * network, data and validate are copied. */
bool config_absolute_value(const char *key, const char *value, char *text, size_t size,
                           struct error *error);

/* Writes a value of the setting `key` for people: a path below the current folder without that
 * folder. Returns `text`. */
char *config_short_value(const char *key, const char *value, char *text, size_t size);

#endif
