/* config_data.h: the data sets that a configuration trains and validates on.
 *
 * The setting `validate` is a SPEC, or "auto[,share=F]": the share F (0.1 unless given) of each
 * class of the training data is held out, drawn by the run's seed, and the run trains on the rest.
 * --data SPEC,validate=F says the same.
 *
 * The setting `test` is a SPEC, or "auto": the test split of the training data, all of it.
 */
#ifndef TINCA_RUNS_SETTINGS_CONFIG_DATA_H
#define TINCA_RUNS_SETTINGS_CONFIG_DATA_H

#include "runs/settings/config.h"

enum { CONFIG_SPEC = CONFIG_LONGEST + 64 };

/* Returns whether the validation data is held out of the training data. */
bool config_holds_out(const struct run_config *config);

/* Returns false with an error if `validate` begins with "auto" and goes on otherwise than a share,
 * or the training data already is a part of a set. */
bool config_check_validation(const struct run_config *config, struct error *error);

/* Takes the option NAME=VALUE out of a SPEC: writes what remains, and the value without its
 * quotation. Returns false, and writes nothing that counts, if the SPEC has no such option or a
 * text is too long. */
bool config_data_take_option(const char *spec, const char *name, char *rest, size_t size,
                             char *value, size_t value_size);

/* Returns whether a SPEC is a part of a set that share= or rest= draws. */
bool config_data_is_part(const char *spec);

/* Returns whether each set of the SPEC's kind has a test split, and the SPEC names no split. */
bool config_data_has_test(const char *spec);

/* Returns false with an error if `test` is "auto" and the training data is the test split. */
bool config_check_test(const struct run_config *config, struct error *error);

/* Write the SPEC of the training data, and those of the validation and test data ("" if there is
 * none), as data sets are opened: DATA,rest=F,draw=SEED and DATA,share=F,draw=SEED. Return `text`.
 */
char *config_training_spec(const struct run_config *config, char text[CONFIG_SPEC]);
char *config_validation_spec(const struct run_config *config, char text[CONFIG_SPEC]);
char *config_test_spec(const struct run_config *config, char text[CONFIG_SPEC]);

/* The other set of a run that has images of its test set. */
enum config_overlap { OVERLAP_NONE, OVERLAP_TRAINING, OVERLAP_VALIDATION };

/* Compares the test data with the others by their SPECs: the same place and split. */
enum config_overlap config_test_overlap(const struct run_config *config);

/* Writes the SPEC on which a run's model is measured: the validation data, or else the training
 * data, whose test split is then used if there is one. Returns `text`. */
char *config_measured_spec(const struct run_config *config, char text[CONFIG_SPEC]);

#endif
