/* iteration.h: one iteration of a training. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_ITERATION_H
#define TINCA_SESSION_TRAINING_ITERATION_H

#include "session/training/trainer.h"

/* Trains on the next batch of the data loader and records the result. Returns false with
 * *trainer->error if the run fails. */
bool iteration_run(struct trainer *trainer, bool *epoch_over);

/* Measures the last iteration of a run that was stopped, which nobody could foresee: repeats it, in
 * at most a hundredth of the run's time and a second. Call it when everything is saved, because the
 * weights go on changing. Does nothing if the last iterations have been measured. */
void iteration_repeat_last(struct trainer *trainer);

/* Waits, in float16, for the last step, and notes it if it was skipped. Call it when training is
 * over. */
void iteration_count_last_step(struct trainer *trainer);

/* Adds a finding with the number of CUDA graphs that the driver refused, if it did. Call it when
 * the run ends. */
void iteration_note_end(struct trainer *trainer);

/* Measures memory and the data loader, and adds findings about them. */
void iteration_measure(struct trainer *trainer);

#endif
