/* golden.h: PyTorch's results for a network, and the difference of ours from them.
 *
 * A golden file has one object for each case. Its "network" is the network's full name. For a
 * tensor it stores two numbers, the length and the projection on a random direction, which the
 * generator of random numbers can reproduce: `from` is its seed, `stream` the number of the
 * direction.
 */
#ifndef TINCA_TESTS_GOLDEN_H
#define TINCA_TESTS_GOLDEN_H

#include "base/json/json.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

#include <stdint.h>

enum { GOLDEN_OUTPUT_STREAM = 1 << 16, GOLDEN_PARAMETER_STREAM = 1 << 17 };

/* The tolerance of comparisons, and how much training must change the last loss, since a constant
 * trajectory could not fail. Both are relative. */
#define GOLDEN_TOLERANCE  1e-4
#define GOLDEN_LEAST_MOVE 5e-3

/* Reads goldens/NAME.json of the source tree. */
bool golden_read(struct json_document *goldens, const char *name, struct error *error);

/* Like network_build, but finds the networks of tests/parity/networks by their names, and those of
 * a folder in networks/ as "torchvision/alexnet". */
struct network *golden_build_network(const struct network_request *request, struct error *error);

/* Returns whether a golden (may be NULL) is of this network. */
bool golden_is_of(const struct json *golden, const struct network *network);

/* Fills in a direction of `count` values in -1..1. */
void golden_draw_direction(uint64_t from, uint32_t stream, float *direction, size_t count);

/* Returns the difference of a tensor from [length, projection], relative to that length or to
 * `least`, whichever is larger. Infinity if there is no golden, or for NaN. */
double golden_tensor_difference(const float *values, size_t count, uint64_t from, uint32_t stream,
                                const struct json *golden, double least);

/* Returns the largest difference of a graph's gradients (in the layout of the weights) from an
 * object of tensors by parameter name; sets *name to the parameter. Gradients that are only
 * rounding errors, such as those of biases before a batch norm, do not count: differences are
 * relative to a thousandth of the longest gradient if that is larger than the golden length. */
double golden_gradients_difference(const struct graph *graph, const float *gradients, uint64_t from,
                                   const struct json *golden, const char **name);

/* Returns the i-th number of an array, NaN if there is none. */
double golden_number(const struct json *array, size_t i);

/* Returns how much training changed the last loss from `untrained`, its value with the initial
 * weights. Relative; 0 if a golden is missing. */
double golden_move(const struct json *losses, const struct json *untrained);

/* Sets the biases of batch norms to `amount` and -`amount` in turn, channel by channel: then few
 * activations are so close to a ReLU's kink that float32 and double are on different sides. */
void golden_spread_norms(struct weights *weights, const struct graph *graph, float amount);

/* Overwrites the weights with a direction for every parameter, in their layout. */
bool golden_save_directions(struct weights *weights, const struct graph *graph, uint64_t from,
                            const char *path, struct error *error);

#endif
