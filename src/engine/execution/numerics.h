/* numerics.h: the version of the arithmetic, by which a program knows whether it goes on with the
 * numbers of another one to the same bits.
 *
 * Raise NUMERICS_VERSION, and add a row to the table of numerics.c, with every change by which a
 * training on the device cpu or reference would get other weights or losses on the same machine:
 * another order of a sum, another formula, another draw of random numbers. A new operator, a faster
 * kernel with the same bits and another way to show a figure change nothing. */
#ifndef TINCA_ENGINE_EXECUTION_NUMERICS_H
#define TINCA_ENGINE_EXECUTION_NUMERICS_H

#include "engine/graph/graph.h"

/* 1: what recorded none. */
enum { NUMERICS_VERSION = 2 };

/* Returns what changed between numerics `version` and NUMERICS_VERSION for a training of this
 * network on this device, in words to be translated; NULL: it gets the same bits. A version above
 * NUMERICS_VERSION is another arithmetic in any case. */
const char *numerics_change(size_t version, const struct graph *graph, const char *device);

#endif
