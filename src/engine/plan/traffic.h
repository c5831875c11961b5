/* traffic.h: the least number of bytes that a pass reads from memory and writes to it.
 *
 * In the forward pass each layer reads its inputs and parameters and writes its output, as float32
 * or as the plan stores them (bf16, integers of int8); it reads the parameters once per batch.
 * Cache misses, workspaces and arrays that are saved for backward do not count. FLOPs divided by
 * these bytes are the arithmetic intensity. A network is limited by memory bandwidth if its
 * intensity is below the FLOPs that the processor computes in the time of loading a byte.
 */
#ifndef TINCA_ENGINE_PLAN_TRAFFIC_H
#define TINCA_ENGINE_PLAN_TRAFFIC_H

#include "engine/plan/plan.h"

#include <stddef.h>

/* Returns the bytes that the forward pass of a node moves per image, with the image's share of the
 * parameters in a batch of `batch` images, so the number need not be an integer. Views and fused
 * nodes move nothing; a kernel with a fused add also reads the second summand. plan->batch does not
 * matter. */
double traffic_node_bytes(const struct plan *plan, size_t node, size_t batch);

/* Returns the bytes that a step's backward pass moves for the plan's batch; 0 if it has none. The
 * pass reads the output's gradient, the values that its kernel needs, the saved array, and the
 * weights if it computes the input's gradient. It writes the gradients of inputs and of weights,
 * and reads those to which it adds. */
double traffic_backward_bytes(const struct plan *plan, const struct plan_step *step);

/* Returns the bytes that one update moves: it reads the gradients, and reads and writes the weights
 * and the solver's state. 0 if the plan does not train. */
double traffic_update_bytes(const struct plan *plan);

/* Returns the bytes of the layers' weights that kernels of int8 keep as integers, with the scales
 * and sums beside them: a part of the forecast's `prepared`. 0 if the plan is not in int8. */
size_t traffic_int8_weights(const struct plan *plan);

/* Returns the sum of traffic_node_bytes over all steps of `plan`, which must be for inference. */
double traffic_bytes(const struct plan *plan, size_t batch);

#endif
