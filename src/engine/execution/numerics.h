/* numerics.h: the version of the arithmetic. A checkpoint records it, so that a resumed run knows
 * whether it will give the same bits.
 *
 * Raise NUMERICS_VERSION, and add a row to the table of numerics.c, with every change that alters
 * the weights or losses of a training on the device cpu or reference on the same machine: a
 * different order of a sum, formula or random sequence. Do not raise it for a new operator, for a
 * faster kernel with the same bits, or for a change of what is shown. */
#ifndef TINCA_ENGINE_EXECUTION_NUMERICS_H
#define TINCA_ENGINE_EXECUTION_NUMERICS_H

#include "engine/graph/graph.h"

/* A checkpoint without a recorded version counts as version 1. */
enum { NUMERICS_VERSION = 3 };

/* Returns what changed between numerics `version` and NUMERICS_VERSION for a training of this
 * network on this device, as a text to translate; NULL if it gives the same bits. A version above
 * NUMERICS_VERSION always counts as different. */
const char *numerics_change(size_t version, const struct graph *graph, const char *device);

#endif
