/* checkpoint_position.h: where in a run a checkpoint was written. Internal to session/. */
#ifndef TINCA_SESSION_FILES_CHECKPOINT_POSITION_H
#define TINCA_SESSION_FILES_CHECKPOINT_POSITION_H

#include "base/error.h"
#include "engine/weights/safetensors.h"

#include <stdbool.h>
#include <stdint.h>

/* What the metadata says for "tinca.KEY", as computed_with.h lists them; NULL: nothing. */
const char *checkpoint_text(const struct safetensors *file, const char *key);

/* The iteration at which an opened checkpoint was written, and the journal's length then. */
bool checkpoint_place(const struct safetensors *file, uint64_t *iteration, uint64_t *journal,
                      struct error *error);

/* Returns whether the checkpoint says which CRC-32 the journal's bytes had then; one that
 * an earlier version wrote does not. */
bool checkpoint_journal_sum(const struct safetensors *file, uint32_t *sum);

#endif
