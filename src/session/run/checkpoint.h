/* checkpoint.h: all that a training is made of, as a file, so that it goes on from there to the
 * same bits. Internal to session/.
 *
 * RUN/checkpoint.safetensors holds the weights (as model files name them), the solver's state
 * ("solver.0.NAME"), the discriminator's ("discriminator." before both), the window of losses; and
 * in its metadata ("tinca.NAME": a number in decimal, enough of it to read back exactly) what the
 * tables of checkpoint.c list. Random numbers need no state: they follow from seed and iteration.
 * "tinca.journal" and "tinca.journal_crc32" are the length of the journal then and the CRC-32 of
 * those bytes. A checksum over the whole tells whether it is whole. The one before it stays as
 * checkpoint.previous.safetensors: at every moment one of the two is good. */
#ifndef TINCA_SESSION_RUN_CHECKPOINT_H
#define TINCA_SESSION_RUN_CHECKPOINT_H

#include "engine/weights/safetensors.h"
#include "session/run/trainer.h"

/* Writes the trainer's state as it is between two iterations; the journal must be on the disk. */
bool checkpoint_write(struct trainer *trainer, uint64_t *bytes, struct error *error);

/* Bytes that a checkpoint would have, without its header. */
uint64_t checkpoint_bytes(const struct trainer *trainer);

/* Opens a run's last checkpoint, or the one before it, and reads all of it: a file that is not
 * whole is an error. True with file->file NULL: there is no such file. */
bool checkpoint_open(const char *directory, bool previous, struct safetensors *file,
                     struct error *error);

/* Returns the name of the first number of an opened checkpoint's metadata that is missing or is
 * none; NULL: it has all. */
const char *checkpoint_missing(const struct safetensors *file);

/* Fills a prepared trainer, whose loss meter has been created. */
bool checkpoint_restore(struct trainer *trainer, struct safetensors *file, struct error *error);

/* Deletes a run's checkpoints: it is complete, or begins again. */
void checkpoint_remove(const char *directory);

/* Deletes the last checkpoint, so that the one before it, which is better, stays. */
void checkpoint_remove_last(const char *directory);

#endif
