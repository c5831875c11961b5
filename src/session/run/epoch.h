/* epoch.h: validation, and the end of an epoch. Internal to session/. */
#ifndef TINCA_SESSION_RUN_EPOCH_H
#define TINCA_SESSION_RUN_EPOCH_H

#include "session/run/trainer.h"

/* Validates if there is validation data, saves samples, and updates the learning-rate schedule.
 * Returns false with *trainer->error if the run fails. */
bool epoch_end(struct trainer *trainer);

/* Validates at any time. Returns false with *trainer->error if the run fails. */
bool epoch_validate(struct trainer *trainer);

#endif
