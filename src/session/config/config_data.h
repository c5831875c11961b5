/* config_data.h: the data sets that a configuration trains and validates on.
 *
 * The setting `validate` is a SPEC, or "auto[,share=F]": the share F (0.1 unless given) of each
 * class of the training data is held out, drawn by the run's seed, and the run trains on the rest.
 */
#ifndef TINCA_SESSION_CONFIG_CONFIG_DATA_H
#define TINCA_SESSION_CONFIG_CONFIG_DATA_H

#include "session/config/config.h"

enum { CONFIG_SPEC = sizeof((struct run_config *)0)->data + 64 };

/* Returns whether the validation data is held out of the training data. */
bool config_holds_out(const struct run_config *config);

/* Returns false with an error if `validate` begins with "auto" and goes on otherwise than a share,
 * or the training data already is a part of a set. */
bool config_check_validation(const struct run_config *config, struct error *error);

/* Write the SPEC of the training data, and that of the validation data ("" if there is none), as
 * data sets are opened: DATA,rest=F,draw=SEED and DATA,share=F,draw=SEED. Return `text`. */
char *config_training_spec(const struct run_config *config, char text[CONFIG_SPEC]);
char *config_validation_spec(const struct run_config *config, char text[CONFIG_SPEC]);

/* Writes the SPEC on which a run's model is measured: the validation data, or else the training
 * data, whose test split is then used if there is one. Returns `text`. */
char *config_measured_spec(const struct run_config *config, char text[CONFIG_SPEC]);

#endif
