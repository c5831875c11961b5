/* traffic.h: the bytes that a forward pass moves between memory and the arithmetic, at the least.
 *
 * Each layer reads its inputs and its parameters and writes its output, as float32; the parameters
 * are read once a batch, whatever its size. Caches, workspaces and what backward keeps do not
 * count. FLOPs divided by these bytes are the arithmetic intensity: a network whose intensity is
 * below what the processor computes while it loads a byte waits for its memory.
 */
#ifndef TINCA_ENGINE_TRAFFIC_H
#define TINCA_ENGINE_TRAFFIC_H

#include "engine/plan.h"

#include <stddef.h>

/* Bytes of one image of a batch: a share of the parameters is part of them, so they need not be
 * whole. `plan` says which layers compute nothing and move nothing (views); its own batch does not
 * matter. */
double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch);

/* The sum over the layers that the output needs. `plan` is one of inference. */
double traffic_bytes(const struct plan *plan, size_t batch);

#endif
