/* internal.h: what the files of this folder share: setting fields of the table one by one. */
#ifndef TINCA_RUNS_SETTINGS_INTERNAL_H
#define TINCA_RUNS_SETTINGS_INTERNAL_H

#include "runs/settings/config.h"

/* Returns whether `field` is the one of this member of struct run_config. */
#define IS_MEMBER(field, member) ((field)->offset == offsetof(struct run_config, member))

/* Parses the value into the field's member, which an invalid value leaves as it was. */
bool config_store(struct run_config *config, const struct config_field *field, const char *value,
                  struct error *error);

/* As config_set, but leaves the fields that depend on this one: if config_has_dependents, call
 * config_fill_dependent afterwards. */
bool config_set_field(struct run_config *config, const struct config_field *field,
                      const char *value, struct error *error);

/* Sets a CONFIG_NUMBER, or a CONFIG_COUNT to a whole number. Returns false if it is out of range;
 * config_set_field then says so. */
bool config_set_number(struct run_config *config, const struct config_field *field, double number);

/* Sets a CONFIG_FLAG. */
void config_set_flag(struct run_config *config, const struct config_field *field, bool flag);

/* Returns whether other fields depend on this one: network and data. */
bool config_has_dependents(const struct config_field *field);

/* Fills the fields that were not given and depend on others. */
void config_fill_dependent(struct run_config *config);

#endif
