/* checkpoint.h: the whole state of a training in a file, from which it resumes with the same bits.
 *
 * RUN/checkpoint.safetensors has the weights (named as in model files), the solver's state
 * ("solver.0.NAME"), those of the discriminator (with the prefix "discriminator."), the arrays of
 * the observers ("average.NAME"), and the window of losses. Its metadata ("tinca.NAME", a decimal
 * number that reads back exactly) has the numbers that the observers list. Random numbers need no
 * state: they follow from seed and iteration. "tinca.journal" and "tinca.journal_sum" are the
 * length of the journal at that time and its checksum there. A checksum of the whole file shows
 * damage. The previous checkpoint stays as checkpoint.previous.safetensors, so that one of the two
 * is good at any time. */
#ifndef TINCA_TRAINING_CHECKPOINT_H
#define TINCA_TRAINING_CHECKPOINT_H

#include "engine/weights/safetensors.h"
#include "runs/settings/config.h"

struct plan_choices;
struct trainer;

/* Writes the trainer's state between two iterations; the journal must be on the disk. Sets *bytes
 * to the size of the file. Returns false with an error. */
bool checkpoint_write(struct trainer *trainer, uint64_t *bytes, struct error *error);

/* Opens a run's last checkpoint, or the previous one, and verifies its checksum. Returns false with
 * an error if it is damaged. Returns true with file->file NULL if there is no such file. */
bool checkpoint_open(const char *directory, bool previous, struct safetensors *file,
                     struct error *error);

/* Reads the kernels that a run's last checkpoint has recorded, or the previous one if there is no
 * last one, without verifying the file: they are compared with those of the verified checkpoint
 * later. Returns false if they are not known. The caller frees them with kernel_choices_free. */
bool checkpoint_read_kernels(const char *directory, bool previous, struct plan_choices *choices);

/* Returns the name of the first number that is missing in the metadata of an opened checkpoint, or
 * is not a number; NULL if it has all. */
const char *checkpoint_missing(const struct safetensors *file);

/* Returns the prefix of the names of further arrays in the checkpoints of a run with these
 * settings: each learnable parameter of the saved network has one, of its shape. `*next` is 0 at
 * first; NULL: there are no more prefixes. */
const char *checkpoint_next_prefix(const struct run_config *config, size_t *next);

/* Reads a checkpoint into a prepared trainer, whose loss meter has been created. Returns false with
 * an error if it does not fit. */
bool checkpoint_restore(struct trainer *trainer, struct safetensors *file, struct error *error);

/* Deletes both checkpoints of a run. */
void checkpoint_remove(const char *directory);

/* Deletes the last checkpoint and leaves the previous one. */
void checkpoint_remove_last(const char *directory);

#endif
