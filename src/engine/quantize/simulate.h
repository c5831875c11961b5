/* simulate.h: a quantized network whose graph rounds every quantized output in float32.
 *
 * A fake_quantize node follows each node whose output has a quantization, so that every device
 * computes, but for the rounding of sums, the values of the integers, and of int8 where it has
 * none. Where rounding would change nothing there is no such node: behind a layer that only moves
 * or selects values of the same grid, and behind a layer that a relu of the same grid alone reads.
 * Training such a network is training with simulated quantization: the gradient passes straight
 * through (ops/fake_quantize.c), and the execution rounds the weights.
 */
#ifndef TINCA_ENGINE_QUANTIZE_SIMULATE_H
#define TINCA_ENGINE_QUANTIZE_SIMULATE_H

#include "engine/network/network.h"

/* Replaces the network's graph by one that rounds, if it is quantized and does not round yet. The
 * parameters stay where they are, so that weights fit both, and so does network->source. Returns
 * false with an error; the network is then as it was. */
bool network_simulate(struct network *network, struct error *error);

/* Returns whether the network's graph rounds. */
bool network_is_simulated(const struct network *network);

/* The suffix of the names of the nodes that round. */
#define SIMULATE_SUFFIX "grid"

/* Returns whether the operator only moves or selects values of its inputs. */
bool op_moves_values(const struct op *op);

#endif
