/* golden.h: what PyTorch made of a network, and how far from it ours is.
 *
 * A golden file holds an object a case. Its "network" is the network's full name; of a tensor it
 * keeps two numbers, the length and the projection on a random direction, which the generator of
 * random numbers makes again at any time: `from` is its seed, `stream` the direction's. */
#ifndef TINCA_TESTS_GOLDEN_H
#define TINCA_TESTS_GOLDEN_H

#include "base/json/json.h"
#include "engine/network/network.h"
#include "engine/weights/weights.h"

#include <stdint.h>

enum { GOLDEN_OUTPUT_STREAM = 1 << 16, GOLDEN_PARAMETER_STREAM = 1 << 17 };

/* What a comparison allows, and by how much training must have moved the last loss: a trajectory
 * along which nothing happens cannot fail. Both relative. */
#define GOLDEN_TOLERANCE  1e-4
#define GOLDEN_LEAST_MOVE 5e-3

/* Reads goldens/NAME.json of the source tree. */
bool golden_read(struct json_document *goldens, const char *name, struct error *error);

/* network_build, which also knows the networks of tests/parity/networks by their names. */
struct network *golden_build_network(const struct network_request *request, struct error *error);

/* Whether a golden, NULL for none, is of this network. */
bool golden_is_of(const struct json *golden, const struct network *network);

/* A direction of `count` values in -1..1. */
void golden_draw_direction(uint64_t from, uint32_t stream, float *direction, size_t count);

/* By how much a tensor differs from [length, projection], relative to that length or to `least`
 * where that is larger. Infinity for no golden or no number. */
double golden_tensor_difference(const float *values, size_t count, uint64_t from, uint32_t stream,
                                const struct json *golden, double least);

/* The largest difference of a graph's gradients, by offset as in the weights, from an object of
 * tensors by parameter name; *name becomes the parameter's. Gradients that are nothing but rounding
 * errors, as those of biases before a batch norm, do not count: differences are relative to a
 * thousandth of the longest gradient where that is larger than the golden length. */
double golden_gradients_difference(const struct graph *graph, const float *gradients, uint64_t from,
                                   const struct json *golden, const char **name);

/* The i-th of an array of numbers, NaN where there is none. */
double golden_number(const struct json *array, size_t i);

/* By how much training moved the last of the losses from `untrained`, what it would be with the
 * first weights. Relative; 0 where a golden is missing. */
double golden_move(const struct json *losses, const struct json *untrained);

/* Moves the biases of batch norms to `amount` and -`amount` in turn, channel by channel: then few
 * activations lie so near a ReLU's kink that float32 and double see them on different sides. */
void golden_spread_norms(struct weights *weights, const struct graph *graph, float amount);

/* Writes a direction for every parameter, in the layout of weights: they are overwritten. */
bool golden_save_directions(struct weights *weights, const struct graph *graph, uint64_t from,
                            const char *path, struct error *error);

#endif
