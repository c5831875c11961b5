/* energy.h: measures the energy that a run uses. Internal to session/.
 *
 * It is the energy of the device, or of the whole processor, from the first iteration to the end:
 * validations and checkpoints belong to it, pauses do not. A resumed run goes on with the sums of
 * its checkpoint. */
#ifndef TINCA_SESSION_TRAINING_ENERGY_H
#define TINCA_SESSION_TRAINING_ENERGY_H

#include "session/training/trainer.h"

/* Opens the counters and begins to measure. If that is not possible, trainer->now says why. */
void energy_begin(struct trainer *trainer);

/* Does energy_add once a second; `now` is the time in nanoseconds. NVIDIA's library takes some
 * milliseconds to read its counters. */
void energy_step(struct trainer *trainer, uint64_t now);

/* Adds what was used since the last call to trainer->now, unless the run is paused. If a counter
 * cannot be read any more, measures no longer, and trainer->now says why. */
void energy_add(struct trainer *trainer);

/* Does the same at the end of the run; if the run was too short, trainer->now says so. */
void energy_add_last(struct trainer *trainer);

/* Leaves out what was used since the last energy_add: the run was paused. */
void energy_skip(struct trainer *trainer);

/* Closes the counters. */
void energy_end(struct trainer *trainer);

#endif
