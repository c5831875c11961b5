/* config_differences.h: the settings in which several runs differ, and the label that tells one run
 * from the others: "lr 0.03, seed 2". Legends, tables and lists of runs use it, so that all of them
 * call a run the same. */
#ifndef TINCA_RUNS_SETTINGS_CONFIG_DIFFERENCES_H
#define TINCA_RUNS_SETTINGS_CONFIG_DIFFERENCES_H

#include "runs/settings/config.h"

#include <stdbool.h>
#include <stddef.h>

/* Returns whether two configurations have the same value in a field. */
bool config_field_equal(const struct run_config *a, const struct run_config *b,
                        const struct config_field *field);

/* Returns whether two configurations have the same values in all fields that the comparison does
 * not ignore. */
bool config_equal(const struct run_config *a, const struct run_config *b,
                  enum config_comparison comparison);

/* Writes the fields in which `count` configurations differ into `fields` (CONFIG_MAX_FIELDS
 * elements), in the order of config_fields. Returns their number; 0 for fewer than two
 * configurations. */
size_t config_differences(const struct run_config *const *configs, size_t count,
                          const struct config_field **fields);

/* Leaves out fields that are not needed to tell the configurations apart, the least telling ones
 * first, while a label has more than `length` bytes. The network and the learning rate stay.
 * Returns the number of fields left. */
size_t config_differences_shorten(const struct run_config *const *configs, size_t count,
                                  const struct config_field **fields, size_t field_count,
                                  size_t length);

/* Writes the values that a configuration has in these fields: "resnet20, dsc, lr 0.03". Values of
 * network, technique, data and device need no key before them; an empty value is written as "none".
 * A network file is called by its name; without the field technique, a network is called
 * "resnet20-dsc".
 * Returns `text`, "" without fields. */
char *config_difference_label(const struct run_config *config,
                              const struct config_field *const *fields, size_t count, char *text,
                              size_t size);

/* Writes a label of configuration `at` that none of the `count` configurations has that differs
 * from it in these fields: all fields if that takes at most `length` bytes, otherwise those that
 * tell it from the others, and further ones while they fit, the telling ones first. Where even
 * those are too long, keys are left out: "resnet20, 64, lr 0.03". Returns `text`. */
char *config_distinct_label(const struct run_config *const *configs, size_t count, size_t at,
                            const struct config_field *const *fields, size_t field_count,
                            size_t length, char *text, size_t size);

#endif
