/* traffic.h: the bytes that a pass moves between memory and the arithmetic, at the least.
 *
 * Forward, each layer reads its inputs and its parameters and writes its output, as float32; the
 * parameters are read once a batch, whatever its size. Caches, workspaces and what backward keeps
 * do not count. FLOPs divided by these bytes are the arithmetic intensity: a network whose
 * intensity is below what the processor computes while it loads a byte waits for its memory.
 */
#ifndef TINCA_ENGINE_PLAN_TRAFFIC_H
#define TINCA_ENGINE_PLAN_TRAFFIC_H

#include "engine/plan/plan.h"

#include <stddef.h>

/* Bytes of one image of a batch: a share of the parameters is part of them, so they need not be
 * whole. `plan` says which layers compute nothing and move nothing (views, and what the layer
 * before them finishes, which then moves the other summand too); its own batch does not matter. */
double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch);

/* Bytes of a step's backward pass, of the plan's whole batch: it reads the gradient of its output,
 * what its kernel keeps or has kept for it, and the weights where the input's gradient is wanted;
 * it writes the gradients of inputs (and reads those that it adds to) and of weights. 0: it has
 * none.
 */
double traffic_backward_bytes(const struct plan *plan, const struct plan_step *step);

/* Bytes of a solver's step: it reads the gradients, and reads and writes the weights and its own
 * state. 0: the plan does not learn. */
double traffic_update_bytes(const struct plan *plan);

/* The sum over the layers that the output needs. `plan` is one of inference. */
double traffic_bytes(const struct plan *plan, size_t batch);

#endif
