/* saving.h: when checkpoints and the best model are written. Internal to session/.
 *
 * If the disk refuses, the run goes on: trainer->saving.unsaved has the reason, and the next
 * attempt tries once more. A run of several ranks ends. */
#ifndef TINCA_SESSION_TRAINING_SAVING_H
#define TINCA_SESSION_TRAINING_SAVING_H

#include "session/training/trainer.h"

/* Writes a checkpoint if one is due; call it between two iterations. Returns false, with the
 * trainer's error, if there are several ranks and the disk refuses the checkpoint, the best model
 * or the journal. */
bool saving_step(struct trainer *trainer, bool epoch_over);

/* Writes a checkpoint now. Returns false if it cannot; saving.unsaved says why. */
bool saving_checkpoint(struct trainer *trainer);

/* Saves the present model as best.safetensors, or holds it in memory until that works. */
void saving_best(struct trainer *trainer);

/* Tries to write what waits in memory, at the end of the run; what still cannot be written is lost.
 * Returns whether the journal is on the disk. */
bool saving_finish(struct trainer *trainer);

#endif
