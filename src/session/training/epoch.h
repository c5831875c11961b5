/* epoch.h: validation, the end of an epoch, and the test. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_EPOCH_H
#define TINCA_SESSION_TRAINING_EPOCH_H

#include "session/training/trainer.h"

/* Validates if there is validation data, saves samples, and updates the learning-rate schedule.
 * Returns false with *trainer->error if the run fails. */
bool epoch_end(struct trainer *trainer);

/* Validates at any time. Returns false with *trainer->error if the run fails. */
bool epoch_validate(struct trainer *trainer);

/* Returns whether the present weights have been validated. */
bool epoch_is_validated(const struct trainer *trainer);

/* Evaluates the best model that the run has saved, or without a validation the last one, on the
 * test set. Returns false with *trainer->error; of the kind ERROR_INTERRUPTED if the run was
 * stopped meanwhile. */
bool epoch_test(struct trainer *trainer);

#endif
