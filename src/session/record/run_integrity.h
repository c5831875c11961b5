/* run_integrity.h: whether the files of a run belong together. Internal to session/.
 *
 * A checkpoint and a summary say how long the journal was when they were written, and its CRC-32.
 * A power cut may leave the one without the other, as a lost sector or a hand does. These functions
 * only read; each returns false with an error that names the damage. */
#ifndef TINCA_SESSION_RECORD_RUN_INTEGRITY_H
#define TINCA_SESSION_RECORD_RUN_INTEGRITY_H

#include "engine/weights/safetensors.h"
#include "session/config/config.h"

/* Checks what an opened checkpoint says of its place: the iteration lies within the run, the epoch
 * and the journal's length fit it. Says nothing of the arrays: checkpoint_restore does. */
bool run_integrity_check_place(const struct safetensors *checkpoint,
                               const struct run_config *config, struct error *error);

/* Checks that the journal begins with what it held when an opened checkpoint was written. A
 * checkpoint of an earlier version has no CRC-32 (checkpoint_journal_sum): only the length and the
 * last iteration are compared then. */
bool run_integrity_check_journal(const char *directory, const struct safetensors *checkpoint,
                                 struct error *error);

/* Checks that the journal of a run that is over is the one that its summary was written with.
 * A summary of an earlier version has no CRC-32: the journal must reach the summary's last
 * iteration then. True when there is no summary. */
bool run_integrity_check_end(const char *directory, struct error *error);

#endif
