/* bench_int8.h: a quantized network for the measurement of times, from one that was never trained.
 * Internal to session/measure.
 */
#ifndef TINCA_SESSION_MEASURE_BENCH_INT8_H
#define TINCA_SESSION_MEASURE_BENCH_INT8_H

#include "engine/network/network.h"

/* Returns the network with its batch norms folded and all of its layers in int8, which network_free
 * frees. The ranges of values are assumed, -4 to 4, or 0 to 4 after a relu: the times of integers
 * do not depend on them. Returns NULL with an error. */
struct network *bench_quantize(const struct network *network, uint64_t seed, struct error *error);

#endif
