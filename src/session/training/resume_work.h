/* resume_work.h: how a resumed run starts, in its worker. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_RESUME_WORK_H
#define TINCA_SESSION_TRAINING_RESUME_WORK_H

#include "session/training/trainer.h"

/* Finds the checkpoint to resume from, and its iteration; 0 if there is none. Returns false with
 * *trainer->error if the run cannot continue. Changes no file. */
bool resume_find_checkpoint(struct trainer *trainer, uint64_t *iteration);

/* Reads the kernels that the checkpoint, if there is one, has recorded. One of an earlier version
 * has no record, and was computed by fixed rules. Returns false with *trainer->error. */
bool resume_read_choices(struct trainer *trainer);

/* Sets which model the network was made from (tinca.parent), as the checkpoint, if there is one,
 * has recorded. Call it after prepare(). */
void resume_read_parent(struct trainer *trainer);

/* Restores a prepared trainer and the curves from the checkpoint and the journal, or starts the run
 * once more if there is no checkpoint. Returns false with *trainer->error if the run cannot
 * continue; its files are unchanged then. */
bool resume_restore(struct trainer *trainer);

#endif
