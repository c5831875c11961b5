/* resume_arithmetic.h: whether a run can go on with what this process computes with, and what its
 * user is told. Internal to session/. */
#ifndef TINCA_SESSION_RUN_RESUME_ARITHMETIC_H
#define TINCA_SESSION_RUN_RESUME_ARITHMETIC_H

#include "session/run/trainer.h"

/* Refuses a checkpoint whose arithmetic was another one for this network on this device, and names
 * the version that can go on with it. Those of versions that recorded no arithmetic have numerics
 * version 1. */
bool resume_arithmetic_check(const struct safetensors *checkpoint, const struct graph *graph,
                             const char *device, struct error *error);

/* Reports as findings what differs between the trainer's checkpoint and this process, where the
 * last digits may differ or the version does. The journal must be open. */
void resume_arithmetic_report(struct trainer *trainer);

/* Reports that there was no network.json or no data.json to compare with. */
void resume_arithmetic_report_unknown(struct trainer *trainer);

#endif
