/* checkpoint_position.h: the position in the run at which a checkpoint was written. Internal to
 * session/. */
#ifndef TINCA_SESSION_FILES_CHECKPOINT_POSITION_H
#define TINCA_SESSION_FILES_CHECKPOINT_POSITION_H

#include "base/error.h"
#include "engine/weights/safetensors.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns the metadata "tinca.KEY" of a checkpoint, or NULL. */
const char *checkpoint_text(const struct safetensors *file, const char *key);

/* Sets the iteration at which an opened checkpoint was written, and the journal's length at that
 * time. Returns false with an error if one is missing. */
bool checkpoint_place(const struct safetensors *file, uint64_t *iteration, uint64_t *journal,
                      struct error *error);

/* Sets the CRC-32 of the journal at that time. Returns false if the checkpoint, of an earlier
 * version, does not have it. */
bool checkpoint_journal_sum(const struct safetensors *file, uint32_t *sum);

#endif
