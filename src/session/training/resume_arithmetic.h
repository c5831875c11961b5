/* resume_arithmetic.h: whether this process computes with the same arithmetic as a checkpoint, and
 * what it reports if not. Internal to session/. */
#ifndef TINCA_SESSION_TRAINING_RESUME_ARITHMETIC_H
#define TINCA_SESSION_TRAINING_RESUME_ARITHMETIC_H

#include "session/training/trainer.h"

/* Returns false with an error if the checkpoint's version computes this network differently on this
 * device; the error names the version that can resume it. A checkpoint without a record of its
 * arithmetic has numerics version 1. */
bool resume_arithmetic_check(const struct safetensors *checkpoint, const struct graph *graph,
                             const char *device, struct error *error);

/* Adds findings about differences between the checkpoint and this process that may change the last
 * digits, or about another version. The journal must be open. */
void resume_arithmetic_report(struct trainer *trainer);

/* Adds a finding that network.json or data.json is missing, so that it was not compared. */
void resume_arithmetic_report_unknown(struct trainer *trainer);

#endif
