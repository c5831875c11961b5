/* computed_with.h: what a run was computed with, and whether it can go on with what is here.
 * Internal to session/.
 *
 * A checkpoint's metadata and the journal's events "start" and "resume" record the version of tinca
 * ("version"), that of its arithmetic ("numerics"), the instruction set or GPU ("kernels") and, on
 * the device cpu, the BLAS library ("blas"). */
#ifndef TINCA_SESSION_COMPUTED_WITH_H
#define TINCA_SESSION_COMPUTED_WITH_H

#include "session/trainer.h"

enum { COMPUTED_WITH = 4, COMPUTED_WITH_SIZE = 80 };

/* The keys, and what this process computes with; an empty value: it does not apply. */
struct computed_with {
    const char *keys[COMPUTED_WITH];
    char values[COMPUTED_WITH][COMPUTED_WITH_SIZE];
};
void computed_with_here(struct computed_with *here, const char *device);

/* Adds them to an event of the journal. */
bool computed_with_add(struct json *event, const char *device);

/* Refuses a checkpoint whose arithmetic was another one for this network on this device, and names
 * the version that can go on with it. Those of versions that recorded no arithmetic have numerics
 * version 1. */
bool computed_with_check(const struct safetensors *checkpoint, const struct graph *graph,
                         const char *device, struct error *error);

/* Reports as findings what differs between the trainer's checkpoint and this process, where the
 * last digits may differ or the version does. The journal must be open. */
void computed_with_report(struct trainer *trainer);

/* Reports that an earlier version kept neither network.json nor data.json. */
void computed_with_report_unknown(struct trainer *trainer);

#endif
