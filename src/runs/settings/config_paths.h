/* config_paths.h: makes the paths in a configuration independent of the current folder. */
#ifndef TINCA_RUNS_SETTINGS_CONFIG_PATHS_H
#define TINCA_RUNS_SETTINGS_CONFIG_PATHS_H

#include "runs/settings/config.h"

/* Makes the paths of the network file, of the data sets (KIND:DIR) and of the weights absolute, and
 * expands a leading ~/ of a data set. Leaves names of networks and generated sets unchanged.
 * Returns false with an error, and *config unchanged, if the current folder no longer exists or a
 * path becomes too long. */
bool config_make_absolute(struct run_config *config, struct error *error);

/* Writes the value of the setting `key` with an absolute path into `text`. Copies values of
 * settings other than network, data, validate and weights. Returns false with an error. */
bool config_absolute_value(const char *key, const char *value, char *text, size_t size,
                           struct error *error);

/* Writes the value of the setting `key` for display: a path below the current folder becomes
 * relative to it. Returns `text`. */
char *config_short_value(const char *key, const char *value, char *text, size_t size);

/* Writes what a network is called: the name of a file without its folder and ending; other names
 * stay as they are. Runs of "nets/mynet.json" are called "mynet" everywhere. Returns `name`. */
char *config_network_name(const char *network, char *name, size_t size);

#endif
