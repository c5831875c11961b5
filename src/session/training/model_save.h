/* model_save.h: the models and pictures that a run saves. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_MODEL_SAVE_H
#define TINCA_SESSION_TRAINING_MODEL_SAVE_H

#include "session/training/trainer.h"

/* Saves the present model, and the discriminator, into the run's folder. */
bool model_save(struct trainer *trainer, struct error *error);

/* Copies the last model to the path of --save; with the preset cifar, the best model. Returns true
 * without --save. */
bool model_save_copy(struct trainer *trainer);

/* Saves the model to the path of --save, for a run that has lost its folder. */
void model_save_without_folder(struct trainer *trainer);

/* Writes sample-EPOCH.png into the run's folder if the network makes images. A picture that cannot
 * be written is recorded as lost. */
void model_save_samples(struct trainer *trainer);

#endif
